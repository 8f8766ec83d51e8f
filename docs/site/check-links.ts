/** Every link, anchor and file of a built site resolves, and nothing in it breaks the content security policy. */
import { posix } from "node:path";

/** Findings over the built files by path: `tools.html`, `assets/site-1a2b.css`. */
export function checkSite(files: ReadonlyMap<string, string | Uint8Array>): string[] {
  const anchors = new Map<string, ReadonlySet<string>>();
  for (const [path, text] of files)
    if (typeof text === "string" && path.endsWith(".html"))
      anchors.set(path, new Set([...text.matchAll(/ id="([^"]*)"/g)].map(([, id = ""]) => id)));
  return [...files].flatMap(([path, text]) => {
    if (typeof text !== "string" || !path.endsWith(".html")) return [];
    const targets = [...text.matchAll(/ (?:href|src|data-sections)="([^"]*)"/g)].map(
      ([, target = ""]) => target,
    );
    const broken = [...new Set(targets)].flatMap((target) => {
      const found = brokenTarget(path, target, { files, anchors });
      return found === null ? [] : [`${path}: ${target} ${found}`];
    });
    return [...broken, ...forbidden(path, text)];
  });
}

function brokenTarget(
  page: string,
  target: string,
  {
    files,
    anchors,
  }: {
    readonly files: ReadonlyMap<string, unknown>;
    readonly anchors: ReadonlyMap<string, ReadonlySet<string>>;
  },
): string | null {
  // The console, at the root of the server, and other sites.
  if (target === "/" || /^[a-z]+:/i.test(target)) return null;
  const [path = "", anchor = ""] = target.split("#");
  const joined = path === "" ? page : posix.join(posix.dirname(page), path);
  const file = joined.endsWith("/") ? (joined === "./" ? "index.html" : `${joined}index.html`) : joined;
  if (!files.has(file)) return "does not exist";
  return anchor === "" || anchors.get(file)?.has(decodeURIComponent(anchor)) === true
    ? null
    : "has no such heading";
}

/** What `script-src 'self'` and `style-src 'self'` refuse. */
function forbidden(path: string, text: string): string[] {
  const shown = text.replaceAll(/<pre[\s\S]*?<\/pre>/g, "");
  return [
    ...(/<script(?![^>]* src=)[^>]*>/.test(shown) ? [`${path}: an inline script`] : []),
    ...(/<style[\s>]/.test(shown) ? [`${path}: an inline stylesheet`] : []),
    ...(/<[a-z][^>]* style="/.test(shown) ? [`${path}: an inline style`] : []),
    ...(/<[a-z][^>]* on[a-z]+="/.test(shown) ? [`${path}: an inline handler`] : []),
  ];
}
