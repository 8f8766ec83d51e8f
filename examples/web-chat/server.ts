/**
 * The smallest web application on Skein: a page, and three calls that it forwards to a Skein server. The
 * token stays here; a browser can make these three calls only. Anyone who has the URL of a session can
 * continue it, as with a shared document: add your own login if you do not want that.
 *
 *   npm start                                                       # Skein, with a worker inside
 *   export SKEIN_TOKEN=$(bin/skein tokens add web --scope read --scope write --json | jq -r .token)
 *   npx node examples/web-chat/server.ts                            # and open http://127.0.0.1:8080
 */
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";

const { SKEIN_URL = "http://127.0.0.1:7717", SKEIN_TOKEN = "", PORT = "8080" } = process.env;
const model = process.env["SKEIN_MODEL"] ?? "offline/offline";
const page = readFileSync(new URL("./index.html", import.meta.url));

/** What the browser may ask for, and what becomes of it. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  // A page of another site may have made its own name point here.
  const names = ["127.0.0.1", "localhost"].map((name) => `${name}:${port()}`);
  if (!names.includes(request.headers.host ?? "")) return void response.writeHead(421).end();
  const [, path = "", id = "", call = ""] =
    /^(\/(?:s\/(ses_[0-9a-z]{26})|s)?)(\/\w+)?$/.exec(request.url ?? "") ?? [];
  const asked = `${request.method} ${id === "" ? path : "/s/ID"}${call}`;
  // A page of another site cannot send JSON without asking first, and is not allowed to.
  const isJson = request.headers["content-type"] === "application/json";
  if (asked === "GET /" || asked === "GET /s/ID")
    response.setHeader("content-type", "text/html; charset=utf-8").end(page);
  else if (asked === "GET /s/ID/events")
    await handOn(request, response, { path: `/v1/sessions/${id}/events?follow=true` });
  else if (asked === "POST /s" && isJson)
    await handOn(request, response, {
      path: "/v1/sessions",
      body: JSON.stringify({ objective: "Talk", model }),
    });
  else if (asked === "POST /s/ID/input" && isJson)
    await handOn(request, response, { path: `/v1/sessions/${id}/input`, body: await text(request) });
  else response.writeHead(404).end();
}

async function handOn(
  request: IncomingMessage,
  response: ServerResponse,
  { path, body }: { readonly path: string; readonly body?: string },
): Promise<void> {
  const headers = new Headers({ authorization: `Bearer ${SKEIN_TOKEN}`, "content-type": "application/json" });
  for (const name of ["last-event-id", "idempotency-key"])
    if (typeof request.headers[name] === "string") headers.set(name, request.headers[name]);
  const over = new AbortController();
  response.once("close", () => over.abort());
  const init = body === undefined ? {} : { method: "POST", body };
  const given = await fetch(SKEIN_URL + path, { ...init, headers, signal: over.signal });
  response.writeHead(given.status, { "content-type": given.headers.get("content-type") ?? "text/plain" });
  Readable.fromWeb(given.body ?? new ReadableStream())
    .on("error", () => response.destroy())
    .pipe(response);
}

const server = createServer((request, response) => {
  answer(request, response).catch(() =>
    response.headersSent ? response.destroy() : response.writeHead(502).end(),
  );
});
const port = (): number => (server.address() as AddressInfo).port;
server.listen(Number(PORT), "127.0.0.1", () => console.log(`http://127.0.0.1:${port()}`));
