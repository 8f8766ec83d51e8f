/** Pages for the programs of examples/: each with its own header comment and its whole text. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { slugOf, type SitePage } from "./site-page.ts";

const root = join(import.meta.dirname, "..", "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

interface Example {
  readonly file: string;
  readonly title: string;
  readonly text: string;
  readonly markdown: string;
}

/** `examples/ask.ts`: one file. `examples/payroll/README.md`: a folder with its own page. */
function readExamples(): Example[] {
  const files = globSync("examples/*.{ts,md}", { cwd: root }).toSorted();
  const folders = globSync("examples/*/README.md", { cwd: root }).toSorted();
  return [...folders.map(folderExample), ...files.map(fileExample)];
}

function fileExample(file: string): Example {
  const text = read(file);
  const name = file.replace("examples/", "");
  const [, comment = ""] = /^\/\*\*([\s\S]*?)\*\//.exec(text) ?? [];
  const lines = comment
    .replaceAll(/^\s*\* ?/gm, "")
    .trim()
    .split("\n");
  const command = lines.find((line) => line.trim().startsWith("npx "))?.trim() ?? "";
  const about = lines
    .filter((line) => line.trim() !== command)
    .join("\n")
    .trim();
  const language = file.endsWith(".ts") ? "ts" : "md";
  const code = text.replace(/^\/\*\*[\s\S]*?\*\/\n/, "");
  const run = command === "" ? "" : `\`\`\`sh\n${command}\n\`\`\`\n\n`;
  return {
    file,
    title: name,
    text: about.replaceAll("\n", " "),
    markdown: `# ${name}\n\n${about}\n\n${run}\`\`\`\`${language}\n${code}\`\`\`\`\n`,
  };
}

function folderExample(file: string): Example {
  const folder = file.replace("/README.md", "");
  const markdown = read(file);
  const [, title = folder] = /^# (.+)$/m.exec(markdown) ?? [];
  const [, text = ""] = /^# .+\n+([^#`\n][\s\S]*?)\n\n/m.exec(markdown) ?? [];
  const sources = globSync(`${folder}/**/*.{ts,py,md,json,yaml,sh}`, { cwd: root })
    .filter((one) => one !== file)
    .toSorted()
    .map(
      (one) =>
        `## ${one.replace(`${folder}/`, "")}\n\n\`\`\`\`${one.split(".").at(-1)}\n${read(one)}\`\`\`\`\n`,
    );
  return { file, title, text: text.replaceAll("\n", " "), markdown: [markdown, ...sources].join("\n") };
}

export function examplePages(group: string): readonly [overview: string, pages: readonly SitePage[]] {
  const examples = readExamples();
  const rows = examples.map(
    ({ file, title, text }) => `- [${title}](${file.replace(/^examples\//, "")}): ${text}`,
  );
  const overview = [
    "# Examples",
    "",
    "Every example runs offline, without a key, and the tests run it. Start one from a checkout with " +
      "`node --conditions=skein-source examples/ask.ts`.",
    "",
    ...rows,
  ].join("\n");
  const pages = examples.map(({ file, title, markdown }): SitePage => {
    const slug = slugOf(file).replace(/\/readme$/, "");
    return { slug, file, title, can: "", group, markdown, unlisted: true };
  });
  return [overview, pages];
}
