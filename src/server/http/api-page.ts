/**
 * The API page: every operation with its parameters and results, made in the browser from /openapi.json, and
 * a form to call it. It loads nothing from elsewhere, and contains no inline script.
 */

interface File {
  readonly type: string;
  readonly text: string;
}

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Skein API</title>
<link rel="stylesheet" href="/page.css">
<script type="module" src="/page.js"></script>
</head>
<body>
<header><h1>Skein</h1><p id="about"></p><p id="login" role="status"></p>
<label>Find <input id="find" type="search" autocomplete="off"></label></header>
<main id="operations"><noscript>The list is made by a script; <a href="/openapi.json">/openapi.json</a>
holds the same.</noscript></main>
</body>
</html>
`;

const css = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; }
h2 { margin: 2rem 0 0.5rem; }
details { border: 1px solid #8884; border-radius: 6px; margin: 0.4rem 0; padding: 0.4rem 0.8rem; }
summary { cursor: pointer; }
summary b { display: inline-block; min-width: 4.5rem; }
code, pre, textarea { font: 14px/1.4 ui-monospace, monospace; }
pre { background: #8881; border-radius: 4px; max-height: 24rem; overflow: auto; padding: 0.6rem; }
textarea { box-sizing: border-box; min-height: 6rem; width: 100%; }
input { font: inherit; }
.scope { border: 1px solid #8886; border-radius: 1rem; font-size: 0.8rem; padding: 0 0.5rem; }
.problem { color: #c22; }
`;

const script = `const $ = (id) => document.getElementById(id);
function make(tag, more = {}, ...inner) {
  const element = Object.assign(document.createElement(tag), more);
  element.append(...inner);
  return element;
}

/* Browsers never send the token behind the # of the login link. */
async function login() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return;
  history.replaceState(null, "", location.pathname);
  const headers = { authorization: "Bearer " + token, "skein-client": "1" };
  const answer = await fetch("/v1/login", { method: "POST", headers });
  $("login").textContent = answer.ok ? "You are logged in." : "This login link does not hold.";
}

function parameterRow(parameter, given) {
  const input = make("input", { type: "text", autocomplete: "off" });
  given.push({ parameter, input });
  const name = parameter.name + (parameter.required ? " *" : "");
  const form = JSON.stringify(parameter.schema ?? parameter.content["application/json"].schema);
  return make("p", {}, make("label", {}, make("code", { textContent: name }), " ", input), " ",
    make("code", { textContent: form.length > 160 ? form.slice(0, 160) + "…" : form }));
}

async function ask(method, path, given, body, out) {
  const query = new URLSearchParams();
  const headers = { "skein-client": "1" };
  let address = path;
  for (const { parameter, input } of given) {
    if (input.value === "") continue;
    const text = encodeURIComponent(input.value);
    if (parameter.in === "path") address = address.replace("{" + parameter.name + "}", text);
    else if (parameter.in === "query") query.append(parameter.name, input.value);
    else headers[parameter.name] = input.value;
  }
  if (body !== null) headers["content-type"] = "application/json";
  const suffix = query.size === 0 ? "" : "?" + query;
  out.className = "";
  out.textContent = "…";
  const answer = await fetch(address + suffix, { method, headers, body });
  const text = await answer.text();
  out.className = answer.ok ? "" : "problem";
  let shown = text;
  try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* no JSON */ }
  out.textContent = answer.status + "\\n" + shown;
}

function operationRow(path, method, operation) {
  const given = [];
  const rows = operation.parameters.map((parameter) => parameterRow(parameter, given));
  const schema = operation.requestBody?.content["application/json"]?.schema;
  const area = schema === undefined ? null : make("textarea", { value: "{}", spellcheck: false });
  const out = make("pre", { hidden: true });
  const button = make("button", { type: "button", textContent: "Ask" });
  button.onclick = () => {
    out.hidden = false;
    const showError = (error) => { out.textContent = error; };
    ask(method.toUpperCase(), path, given, area?.value ?? null, out).catch(showError);
  };
  const answer = operation.responses["200"]?.content?.["application/json"]?.schema;
  const details = make("details", {},
    make("summary", {}, make("b", { textContent: method.toUpperCase() }),
      make("code", { textContent: path }), " ",
      make("span", { className: "scope", textContent: operation["x-skein-scope"] })),
    make("p", { textContent: operation.summary }), ...rows);
  if (schema !== undefined) {
    const full = make("details", {}, make("summary", { textContent: "Body" }),
      make("pre", { textContent: JSON.stringify(schema, null, 2) }));
    details.append(full, area);
  }
  if (answer !== undefined) {
    details.append(make("details", {}, make("summary", { textContent: "Answer" }),
      make("pre", { textContent: JSON.stringify(answer, null, 2) })));
  }
  details.append(make("p", {}, button), out);
  details.dataset.words = (operation.operationId + " " + path + " " + operation.summary).toLowerCase();
  return details;
}

function filter() {
  const word = $("find").value.toLowerCase();
  for (const row of document.querySelectorAll("main > details"))
    row.hidden = !row.dataset.words.includes(word);
}

await login();
const api = await (await fetch("/openapi.json")).json();
$("about").textContent = api.info.summary + " Version " + api.info.version + ".";
for (const { name, description } of api.tags) {
  $("operations").append(make("h2", { textContent: name }), make("p", { textContent: description }));
  for (const [path, methods] of Object.entries(api.paths))
    for (const [method, operation] of Object.entries(methods))
      if (operation.tags.includes(name)) $("operations").append(operationRow(path, method, operation));
}
$("find").oninput = filter;
`;

const index: File = { type: "text/html; charset=utf-8", text: html };

/** What is served without a token, by path. With a console, `/` is the console. */
export const apiPage: ReadonlyMap<string, File> = new Map([
  ["/", index],
  ["/api", index],
  ["/page.css", { type: "text/css; charset=utf-8", text: css }],
  ["/page.js", { type: "text/javascript; charset=utf-8", text: script }],
]);
