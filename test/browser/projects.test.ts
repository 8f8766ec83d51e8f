/** Projects in the console: the list, the page with its time line, and what is done from them. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Browser } from "playwright-core";
import { buildPage, noChromium, startChromium } from "./chromium.ts";
import { makeStand, type Stand } from "./stand.ts";

const skip = await noChromium();

suite("projects", { skip }, () => {
  let browser: Browser;
  let stand: Stand;
  before(async () => {
    buildPage();
    browser = await startChromium();
    stand = await makeStand({ concurrency: 0 });
  });
  after(async () => {
    await browser?.close();
    await stand?.[Symbol.asyncDispose]();
  });

  test("a project is opened, noted in, worked on, closed and reopened", { timeout: 120_000 }, async () => {
    await using shown = await stand.page(browser, { at: "/projects" });
    const { page } = shown;
    await page.getByText("No projects yet").waitFor();
    await page.keyboard.press("a");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Objective").fill("Move the shop to the new provider");
    await dialog.getByLabel("Name").fill("Shop");
    await dialog.getByLabel("Constraints, one a line").fill("never store card numbers\n\nuse TypeScript");
    await dialog.getByRole("button", { name: "Open project" }).click();
    await page.getByRole("heading", { name: "Shop" }).waitFor();
    const [project] = await stand.engine.projects();
    assert.equal(page.url(), `${stand.url}/projects/${project?.project}`);
    await page.getByText("No sessions yet").waitFor();
    await page.getByText("use TypeScript").waitFor();

    await page.keyboard.press("a");
    await dialog.getByLabel("What was done, or comes next").fill("The sandbox account works.");
    await dialog.getByRole("button", { name: "Add" }).click();
    await page.getByRole("region", { name: "Journal" }).getByText("The sandbox account works.").waitFor();

    await page.keyboard.press("r");
    await dialog.getByLabel("Key").fill("provider");
    await dialog.getByLabel("Value").fill("acme");
    await dialog.getByRole("button", { name: "Record" }).click();
    await page.getByRole("region", { name: "Known" }).getByText("acme").waitFor();

    await page.keyboard.press("n");
    await page.getByRole("dialog", { name: "New session in the project" }).waitFor();
    await dialog.getByLabel("Objective").fill("Write the adapter");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/s\/ses_/);
    const { sessions } = await stand.engine.project(project?.project ?? "");
    assert.equal(sessions.length, 1);

    await page.goto(`${stand.url}/projects/${project?.project}`);
    await page.getByRole("button", { name: "Close" }).click();
    await dialog.getByLabel("Outcome").selectOption("failed");
    await dialog.getByRole("button", { name: "Close project" }).click();
    await page.locator(".mark").getByText("failed").waitFor();
    await page.getByRole("button", { name: "Reopen" }).click();
    await page.getByRole("button", { name: "Note" }).waitFor();
    shown.calm();
  });

  test("the time line has lines of work, seams, and what happens live", { timeout: 120_000 }, async () => {
    const { engine } = stand;
    const { project } = await engine.openProject({ objective: "Storefront", name: "Storefront" });
    const first = await engine.open({ objective: "Migrate invoices", name: "Migrate invoices", project });
    await first.append("go");
    const second = await first.rollover();
    await second.fork({ name: "Reproduce it" });
    await using shown = await stand.page(browser, { at: `/projects/${project}` });
    const { page } = shown;
    const lines = page.getByRole("region", { name: "Sessions" }).locator(".projects-line");
    await lines.first().waitFor();
    assert.deepEqual(
      (await lines.locator(".projects-line-name").allInnerTexts()).map((text) => text.trim()),
      ["Migrate invoices", "Fork · Reproduce it"],
    );
    assert.equal(await lines.first().locator(".projects-bar").count(), 2);
    assert.equal(await lines.first().locator(".projects-seam").count(), 1);
    const bar = lines.filter({ hasText: "Migrate invoices" }).locator(".projects-bar").nth(1);
    const words = (await bar.getAttribute("aria-label")) ?? "";
    assert.match(words, /Migrate invoices: session 2 of 2 sessions, open/);
    await shown.follows();
    await engine.open({ objective: "Came later", name: "Came later", project });
    await page.getByText("Came later").waitFor();
    await page.getByRole("button", { name: "Day" }).click();
    await page.waitForURL(/range=day/);
    await bar.focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(`/s/${second.id}`));
    shown.calm();
  });

  test("the board has the plan, and follows what becomes of it", { timeout: 120_000 }, async () => {
    const { engine } = stand;
    const { project } = await engine.openProject({ objective: "Checkout", name: "Checkout" });
    const accept = ["command: npm test"];
    await engine.planTickets(project, {
      tickets: [
        { id: "schema", title: "Add the column", accept },
        { id: "api", title: "Serve it", after: ["schema"] },
        { id: "docs", title: "Describe it" },
      ],
    });
    const session = await engine.open({ objective: "Add the column", project });
    await engine.markTicket(project, { ticket: "schema", session: session.id });
    await engine.markTicket(project, { ticket: "docs", outcome: "done" });
    await using shown = await stand.page(browser, { at: `/projects/${project}` });
    const { page } = shown;
    const board = page.getByRole("region", { name: "Plan" });
    await board.waitFor();
    const columns = board.locator(".projects-columns > div");
    assert.deepEqual(
      (await columns.locator("h2").allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim()),
      ["Planned 1", "In progress 1", "Done 1"],
    );
    assert.match(await columns.nth(0).innerText(), /Serve it[^]*Starts after 1 ticket/);
    assert.match(await columns.nth(1).innerText(), /Add the column[^]*npm test/);
    await shown.follows();
    await engine.markTicket(project, { ticket: "schema", outcome: "failed", reason: "the tests fail" });
    await board.getByText("the tests fail").waitFor();
    shown.calm();
  });

  test("the palette leads to the projects, and a missing one says so", { timeout: 120_000 }, async () => {
    await using shown = await stand.page(browser);
    const { page } = shown;
    await page.getByRole("link", { name: "Projects" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("List the projects");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/projects$/);
    await page.goto(`${stand.url}/projects/zzzz`);
    await page
      .getByRole("alert")
      .getByText(/no project/)
      .waitFor();
    shown.calm(/404/);
  });
});
