/** The redactor: every form of a registered value, what looks like a secret, and what must stay. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import fc from "fast-check";
import { limit } from "../../src/core/limit.ts";
import { formsOf } from "../../src/core/secret/encoding.ts";
import { readingsOf } from "../../src/core/secret/decoding.ts";
import { makeRedactor } from "../../src/core/secret/redactor.ts";

const value = 'p/ss w0rd"é+x\\?';
const holding = (name: string, secret: string) => {
  const redactor = makeRedactor();
  redactor.register(name, secret);
  return redactor;
};
const utf8 = (text: string) => Buffer.from(text);
const json = (text: string) => JSON.stringify(text).slice(1, -1);

const inLines = (bytes: Buffer, end: string) => bytes.toString("base64").replace(/.{76}(?=.)/g, `$&${end}`);

const forms: Readonly<Record<string, (secret: string) => string>> = {
  plain: (secret) => secret,
  "escaped for JSON": json,
  "escaped twice": (secret) => json(json(secret)),
  "escaped three times": (secret) => json(json(json(secret))),
  "escaped with slashes": (secret) => json(secret).replaceAll("/", "\\/"),
  "escaped with slashes, twice": (secret) => json(json(secret).replaceAll("/", "\\/")),
  "escaped to ASCII": (secret) =>
    json(secret).replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`),
  "URL-encoded": encodeURIComponent,
  "URL-encoded in small letters": (secret) =>
    encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase()),
  "a form's field": (secret) => new URLSearchParams({ q: secret }).toString().slice(2),
  "URL-encoded twice": (secret) => encodeURIComponent(encodeURIComponent(secret)),
  hexadecimal: (secret) => utf8(secret).toString("hex"),
  "hexadecimal in capitals": (secret) => utf8(secret).toString("hex").toUpperCase(),
  base64: (secret) => utf8(secret).toString("base64"),
  "base64 without padding": (secret) => utf8(secret).toString("base64").replaceAll("=", ""),
  "base64 behind one byte": (secret) => utf8(`u${secret}`).toString("base64"),
  "base64 behind two bytes": (secret) => utf8(`u:${secret}:tail`).toString("base64"),
  "base64 of a URL": (secret) => utf8(`user:${secret}`).toString("base64url"),
  "base64 in lines": (secret) => inLines(utf8(`${"y".repeat(50)}${secret}${"z".repeat(50)}`), "\n"),
  "base64 in lines of JSON": (secret) => inLines(utf8(`${"y".repeat(49)}${secret}`), "\\r\\n"),
  "base64 in lines of a URL": (secret) =>
    inLines(utf8(`${"y".repeat(50)}${secret}`), "\n").replaceAll("\n", "%0A"),
  "base64 in a URL": (secret) => encodeURIComponent(utf8(`u:${secret}`).toString("base64")),
};

suite("a registered value", () => {
  test("is found wherever it begins and ends, in ASCII and beside other letters", () => {
    const redactor = holding("KEY", "hunter22");
    for (const letter of ["x", "é", "😀"]) {
      for (let place = 0; place < 12; place++) {
        const [front, back] = [letter.repeat(place), letter.repeat(place % 5)];
        const text = `${front}hunter22${back}hunter22`;
        assert.equal(redactor.text(text), `${front}[redacted: KEY]${back}[redacted: KEY]`);
      }
    }
  });

  for (const [form, write] of Object.entries(forms)) {
    test(`is taken out when it is ${form}`, () => {
      for (const secret of [value, "hunter22", "aB3_xY9-zzQ1~k.p"]) {
        const [redactor, text] = [holding("DB", secret), `<${write(secret)}>`];
        assert.equal(redactor.text(text), "<[redacted: DB]>");
        assert.equal(redactor.jsonText(JSON.stringify({ text })), '{"text":"<[redacted: DB]>"}');
      }
    });
  }

  test("is removed anywhere in JSON, field names too, and nothing else changes", () => {
    const redactor = holding("DB", value);
    const before = { a: [1, null, `x ${value}`], [value]: { b: value }, [`${value} `]: true };
    const after = {
      a: [1, null, "x [redacted: DB]"],
      "[redacted: DB]": { b: "[redacted: DB]" },
      "[redacted: DB] ": true,
    };
    assert.deepEqual(redactor.json(before), after);
    assert.deepEqual(JSON.parse(redactor.jsonText(JSON.stringify(before))), after);
    const clean = { a: ["nothing"], b: { c: 1 } };
    assert.equal(redactor.json(clean), clean);
  });

  test("a value without an end is left to the check that refuses to store it", () => {
    const endless: Record<string, unknown> = { text: value };
    endless["again"] = endless;
    endless["andAgain"] = [endless, endless];
    assert.equal(holding("DB", value).json(endless), endless);
  });

  test("two fields that differ only in a secret both stay", () => {
    const redactor = makeRedactor();
    redactor.register("A", "first-secret");
    redactor.register("A", "second-secret");
    assert.deepEqual(redactor.json({ "first-secret": 1, "second-secret": 2 }), {
      "[redacted: A]": 1,
      "[redacted: A] 2": 2,
    });
  });

  test("is found in URL-encoded bytes that are not text", () => {
    const every = Array.from("hunter22", (char) => `%${utf8(char).toString("hex")}`).join("");
    assert.equal(holding("DB", "hunter22").text(`%ff${every}%ff`), "%ff[redacted: DB]%ff");
  });

  test("that overlaps another leaves no part of either", () => {
    const redactor = makeRedactor();
    redactor.register("A", "abcdefghij");
    redactor.register("B", "ghijklmnop");
    assert.equal(redactor.text("<abcdefghijklmnop>"), "<[redacted: A]>");
  });

  test("is taken out of lines of any width, at any ending, behind any indent", () => {
    const secret = "aB3_xY9-zzQ1~k.p";
    const redactor = holding("DB", secret);
    const ends = ["\n", "\r\n", "\r", "\n    ", " \t\n\t", "\\n", "\\r\\n  ", "\\\\n\\\\t", '"\n  "', "\n> "];
    for (let width = 1; width <= 76; width++) {
      for (let before = 0; before < 60; before += width < 34 ? 7 : 1) {
        const bytes = utf8(`${"y".repeat(before)}${secret}${"z".repeat(50)}`);
        const end = ends[(width + before) % ends.length] ?? "";
        for (const encoding of ["base64", "base64url", "hex"] as const) {
          const whole = bytes.toString(encoding);
          const text = `<${whole.replace(new RegExp(`.{${width}}(?=.)`, "g"), `$&${end}`)}`;
          const clean = redactor.text(text);
          const left = clean.replaceAll(end, "").slice(1);
          const [first = "", last = "", ...more] = left.split("[redacted: DB]");
          assert.ok(more.length === 0 && whole.startsWith(first) && whole.endsWith(last), clean);
          const bits = encoding === "hex" ? 4 : 6;
          assert.ok(first.length * bits <= before * 8, `before it, at ${width}`);
          assert.ok(last.replaceAll("=", "").length * bits <= 50 * 8 + bits, `after it, at ${width}`);
          assert.ok(clean.includes("[redacted: DB]"));
          const content = { text };
          assert.deepEqual(JSON.parse(redactor.jsonText(JSON.stringify(content))), { text: clean });
        }
      }
    }
  });

  test("in lines leaves the lines around it", () => {
    const base = utf8("hunter22-hunter").toString("base64");
    const list = ["apples", base.slice(0, 8), base.slice(8), "pears", "plums"].join("\n");
    assert.equal(holding("DB", "hunter22-hunter").text(list), "apples\n[redacted: DB]\npears\nplums");
  });

  test("in a line behind an escaped tab leaves that tab", () => {
    const digits = utf8("uhunter22").toString("base64").slice(2);
    assert.equal(holding("DB", "hunter22").text(`\\t\n${digits}`), "\\t\n[redacted: DB]");
  });

  test("of several lines is found line by line as well, but for short lines and the frame", () => {
    const line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC";
    const [shortest, tooShort] = ["AbCdEfGhIj1-----", "aBcDeFgHiJkLmN2"];
    const redactor = holding(
      "PEM",
      ["-----BEGIN X-----", line, shortest, tooShort, "-----END X-----", ""].join("\n"),
    );
    assert.equal(redactor.text(`12\t${line}`), "12\t[redacted: PEM]");
    assert.equal(redactor.text(`13\t${shortest}`), "13\t[redacted: PEM]");
    for (const text of [`14\t${tooShort}`, "-----BEGIN X-----", "-----END X-----"])
      assert.equal(redactor.text(text), text);
  });

  test("is marked as registered, and its name precedes that of a lookalike", () => {
    const token = `ghp_${"A1b2C3d4".repeat(4)}`;
    const place = { start: 2, end: 2 + token.length };
    assert.deepEqual(holding("DB", token).find(`x ${token}`), [{ ...place, name: "DB", registered: true }]);
    assert.deepEqual(makeRedactor().find(`x ${token}`), [
      { ...place, name: "github-token", registered: false },
    ]);
  });

  test("is found in any text, in any of its forms, and redacting twice changes nothing", () => {
    const chars = fc.string({ unit: "grapheme", minLength: 8, maxLength: 40 });
    const secrets = chars.filter(
      (text) => text.trim().length >= limit.secretCharsMin && !"[redacted: DB]".includes(text.trim()),
    );
    fc.assert(
      fc.property(secrets, fc.string(), fc.constantFrom(...Object.values(forms)), (given, around, write) => {
        const secret = given.trim();
        const redactor = holding("DB", secret);
        const text = `${around}|${write(secret)}|${around}`;
        const clean = redactor.text(text);
        assert.ok(clean.includes("[redacted: DB]"));
        assert.ok(!clean.includes(write(secret)));
        assert.equal(redactor.text(clean), clean);
        assert.ok(!redactor.jsonText(JSON.stringify({ text })).includes(json(write(secret))));
      }),
    );
  });

  test("that is too short, too many, or equal to its name is rejected", () => {
    const redactor = makeRedactor();
    const least = "x".repeat(limit.secretCharsMin);
    assert.throws(() => redactor.register("A", least.slice(1)), /at least 8/);
    assert.throws(() => redactor.register("a b", least), /^SkeinError: secret /);
    assert.throws(() => redactor.register("redacted", "redacted"), /name: contains the value/);
    for (let count = 0; count < limit.secretsMax; count++) redactor.register("A", `${least}${count}`);
    redactor.register("A", `${least}0`);
    assert.throws(() => redactor.register("A", `${least}more`), /at most 1000 values/);
  });
});

suite("the forms and readings that are searched", () => {
  test("are few: three escapes, a fourth in JSON alone, 64 lines", () => {
    const forms = new Map(formsOf(value).map((form) => [form.text, form.jsonOnly === true]));
    const escaped = [0, 1, 2, 3, 4].map((times) => Array.from({ length: times }).reduce<string>(json, value));
    assert.deepEqual(
      [...escaped, json(escaped[4] ?? "")].map((text) => forms.get(text)),
      [false, false, false, false, true, undefined],
    );
    const lines = Array.from({ length: 65 }, (_, line) => `a line with a number ${line + 1}`);
    const texts = new Set(formsOf(lines.join("\n")).map(({ text }) => text));
    assert.deepEqual([texts.has(lines[63] ?? ""), texts.has(lines[64] ?? "")], [true, false]);
  });

  test("join lines that continue base64, in either alphabet", () => {
    const stripped = "\"'`,\\>|#";
    for (let code = 33; code < 127; code++) {
      const char = String.fromCharCode(code);
      if (stripped.includes(char)) continue;
      const expected = /[A-Za-z0-9+/_-]/.test(char) ? [`x${char}x`] : [];
      for (const text of [`x${char}\nx`, `x\n${char}x`])
        assert.deepEqual(
          readingsOf(text, false).map((one) => one.text),
          expected,
          char,
        );
    }
    const [joined] = readingsOf("ab\n  cd", false);
    assert.deepEqual([joined?.start(1), joined?.end(2), joined?.start(2), joined?.end(4)], [1, 2, 5, 7]);
  });

  test("stop at a line that is narrow, or has a wider one behind it", () => {
    const stops = (text: string) => [...(readingsOf(text, false).at(-1)?.stops ?? [])];
    const [narrow, wide] = ["a".repeat(15), "a".repeat(16)];
    assert.deepEqual(stops(`${narrow}\nb`), [15]);
    assert.deepEqual(stops(`x\\n${narrow}\\nb`), [1, 16]);
    assert.deepEqual(stops(`${wide}\n${wide}`), []);
    assert.deepEqual(stops(`${wide}\n${wide}a`), [16]);
  });

  test("decode URL encoding at most twice, and know the position of each letter", () => {
    for (const letter of ["\u007F", "\u0080", "\u07FF", "\u0800", "\uFFFF", "\u{10000}"]) {
      const encoded = encodeURIComponent(letter);
      const [reading] = readingsOf(`<${encoded}%41>`, false);
      assert.equal(reading?.text, `<${letter}A>`);
      const at = 1 + letter.length;
      assert.deepEqual([reading.start(1), reading.end(at)], [1, 1 + encoded.length]);
      assert.deepEqual([reading.start(at), reading.end(at + 1)], [1 + encoded.length, 4 + encoded.length]);
    }
    const texts = (text: string, hasSpaces: boolean) => readingsOf(text, hasSpaces).map((one) => one.text);
    assert.deepEqual(texts("%FF%7F%80%41", false), ["\uFFFD\u007F\uFFFDA"]);
    assert.deepEqual(texts("%25252541", false), ["%252541", "%2541"]);
    assert.deepEqual([texts("a+b", true), texts("a+b", false)], [["a b"], []]);
  });
});

const letters = "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0dF2hJ4kL6";
/** Without the `~`, which keeps others from taking this file for one that leaks. */
const written: Readonly<Record<string, readonly string[]>> = {
  "anthropic-key": [`sk-~ant-api03-${letters}`],
  "api-key": [`sk-~proj-${letters}`, `sk-or-v1-${"0123456789abcdef".repeat(4)}`],
  "github-token": [`ghp~_${letters}`, `gho~_${letters}`, `github~_pat_11AB_${letters}`],
  "gitlab-token": [`glpat~-${letters.slice(0, 20)}`],
  "slack-token": [`xoxb~-123456789012-${letters}`],
  "google-key": [`AIza${letters.slice(0, 35)}`],
  "google-token": [`ya29.${letters}`],
  "npm-token": [`npm_${letters.slice(0, 36)}`],
  "pypi-token": [`pypi-${letters}${letters}`],
  "digitalocean-token": [`dop_v1_${"0123456789abcdef".repeat(4)}`],
  "sendgrid-key": [
    `SG.${letters.slice(0, 22)}.${letters}`,
    `SG.${"aBcDeFgHiJk".repeat(2)}.${"x".repeat(43)}`,
  ],
  "hugging-face-token": [`hf_${letters.slice(0, 34)}`],
  "aws-key": ["AKIAIOSFODNN7ABCDEFG", "ASIAIOSFODNN7ABCDEFG,wJalrXUtnFEMI/K7MDENG/bPxRfiCYABCDEFGHIJ"],
  jwt: [`eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${letters}`],
  "private-key": [
    `-----BEGIN ~RSA PRIVATE KEY-----\nProc-Type: 4\n\n${letters}\n-----END RSA PRIVATE KEY-----`,
    `-----BEGIN PRIVATE ~KEY-----\\n${letters}\\n${letters}`,
  ],
};

const seen = Object.fromEntries(
  Object.entries(written).map(([name, tokens]) => [name, tokens.map((one) => one.replaceAll("~", ""))]),
);

/** Around what is secret: before it and after it. */
const named: readonly (readonly [before: string, secret: string, after: string, name: string])[] = [
  ["postgres://ann:", "pa55.word!", "@db:5432/hr", "url-password"],
  ["Authorization: Bearer ", "abc.def-123", "", "authorization"],
  ["curl -H 'authorization: Basic ", "dXNlcjpwYXNz", "'", "authorization"],
  ["DB_PASSWORD=", "correcthorse", "\nnext", "password"],
  ["export GITHUB_TOKEN=", "abcdef12", "", "token"],
  ["export DB_PASSWORD=", "correcthorse", "", "password"],
  ["password: ", "hunter22", "", "password"],
  ["password: ", "12345678", "", "password"],
  ['password: "', "a1$b2c3d4", '"', "password"],
  ['{"client_secret":"', "a1-b2-c3", '"}', "secret"],
  ['{\\"apiKey\\": \\"', "a1b2c3d4", '\\"}', "api-key"],
  ["https://x.test/?api_key=", "a1b2c3d4", "&q=1", "api-key"],
  ["aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG", "", "secret"],
];

const stays = [
  "tokens: 500",
  "the password: at least eight characters, please",
  "interface Login { password: string; secret: Uint8Array; apiKey?: string }",
  "const apiKey = options.apiKey ?? process.env.API_KEY;",
  "password: z.string().min(8), secret = crypto.randomBytes(32)",
  "login(user, password=getpass(), api_key=config.api_key)",
  "login(user, password=password2, api_key=api_key1)",
  "password: 1234567",
  'password: "at least 8 letters and 1 digit"',
  'input type="password" name="password" placeholder="Password"',
  '{"password": "Passwort", "secret": "Geheimnis", "api_key": "your-api-key"}',
  "PASSWORD=$1 API_KEY=${API_KEY} SECRET=<secret> TOKEN=***",
  "postgres://user:password@localhost/db and https://example.com:8080/@scope",
  "sk-learn-is-a-library-for-machine-learning and task-force-of-many-people-here",
  `sha256 ${"5e".repeat(32)} and git 4224e64c7a7f3105159c039ab08d834f675ef7cf6c6b57`,
  "ses_01m7fw7b1cpz75ebm7p14mfr4w call_a1b2c3d4 msg_01hf7yat000000000000000000",
  "/home/ann/work/secrets/token.txt and ./private_key.pem",
  "Basic understanding of bearer tokens; Bearer of bad news",
  "-----BEGIN PRIVATE KEY----- is how the file begins",
  "SG.someModuleOfManyNames.anotherModuleOfManyNames",
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
];

suite("what looks like a secret", () => {
  const redactor = makeRedactor();
  test("is taken out by how it begins", () => {
    for (const [name, tokens] of Object.entries(seen)) {
      for (const token of tokens) {
        for (const [before, after] of [
          ["", ""],
          ["see ", "."],
          ['"', '"'],
          ["\\n", " x"],
        ] as const) {
          assert.equal(redactor.text(`${before}${token}${after}`), `${before}[redacted: ${name}]${after}`);
        }
      }
    }
  });

  test("is taken out by what stands before it", () => {
    for (const [before, secret, after, name] of named) {
      assert.equal(redactor.text(`${before}${secret}${after}`), `${before}[redacted: ${name}]${after}`);
    }
  });

  test("is taken out of fields that are called so, words as well", () => {
    const before = {
      db_password: "correct",
      Authorization: "Bearer abcdef",
      env: { NPM_TOKEN: "abcdef", DEPLOY_TOKEN: "abcdef", githubToken: "abcdef", authorization: "abcdef" },
    };
    assert.deepEqual(redactor.json(before), {
      db_password: "[redacted: password]",
      Authorization: "Bearer [redacted: authorization]",
      env: {
        NPM_TOKEN: "[redacted: token]",
        DEPLOY_TOKEN: "[redacted: token]",
        githubToken: "[redacted: token]",
        authorization: "[redacted: authorization]",
      },
    });
    assert.deepEqual(JSON.parse(redactor.jsonText(JSON.stringify(before))), redactor.json(before));
  });

  test("is removed from such fields as a number, in a list, and as the value of an object", () => {
    const before = {
      password: 12_345_678,
      api_key: ["A1b2C3d4E5", "required"],
      secret: { value: "correct", type: "string", version: 12_345_678 },
      passcode: [{ value: 1_234_567 }],
    };
    const after = {
      password: "[redacted: password]",
      api_key: ["[redacted: api-key]", "required"],
      secret: { value: "[redacted: secret]", type: "string", version: 12_345_678 },
      passcode: [{ value: "[redacted: password]" }],
    };
    assert.deepEqual(redactor.json(before), after);
    assert.equal(redactor.jsonText(JSON.stringify(before)), JSON.stringify(after));
  });

  test("may say what it is for: one that is sure does not need what stands before it", () => {
    for (const [name, tokens] of Object.entries(seen)) {
      for (const token of tokens) assert.equal(redactor.sureIn(`x ${token}`), name);
    }
    for (const one of named) assert.equal(redactor.sureIn(one.slice(0, 3).join("")), null);
    assert.equal(makeRedactor({ looksLike: false }).sureIn(seen["jwt"]?.[0] ?? ""), null);
  });

  test("is not what only sounds like one", () => {
    for (const text of stays) assert.equal(redactor.text(text), text);
    const rules = {
      password: ["required", "min-length"],
      apiKey: { type: "string", pattern: "^[a-z0-9]+$" },
    };
    assert.equal(redactor.json(rules), rules);
    const few = { password: 8, secret: true, api_key: null, max_tokens: 123_456, access_token: [] };
    assert.equal(redactor.json(few), few);
    const schema = { password: { type: "string" }, secrets: ["HR_PASSWORD"], password_hint: "a colour" };
    assert.equal(redactor.json(schema), schema);
  });

  test("stays when guessing is disabled; registered secrets are redacted", () => {
    const strict = makeRedactor({ looksLike: false });
    strict.register("DB", "hunter-hunter");
    const [token = ""] = seen["github-token"] ?? [];
    assert.equal(strict.text(`${token} hunter-hunter`), `${token} [redacted: DB]`);
    assert.deepEqual(strict.json({ password: "correct" }), { password: "correct" });
  });

  test("is redacted once: the second time nothing changes", () => {
    const all = [...Object.values(seen).flat(), ...named.map((one) => one.slice(0, 3).join("")), ...stays];
    for (const text of all) assert.equal(redactor.text(redactor.text(text)), redactor.text(text));
    const some = fc.array(fc.oneof(fc.constantFrom(...all), fc.string()), { maxLength: 6 });
    fc.assert(
      fc.property(some, fc.constantFrom(" ", "", "\n", '"', "="), (texts, between) => {
        const clean = redactor.text(texts.join(between));
        assert.equal(redactor.text(clean), clean);
      }),
    );
  });
});

test("the text of a JSON value loses exactly the same as the value", () => {
  const redactor = holding("DB", value);
  const held = Object.values(forms).map((write) => write(value));
  const around = named.map((one) => one.slice(0, 3).join(""));
  const texts = fc.constantFrom(...Object.values(seen).flat(), ...around, ...stays, ...held, "abcdef", "a\n");
  const words = "password apiKey db_secret Authorization NPM_TOKEN githubToken gitlab-token private_key text";
  const keys = fc.oneof(fc.constantFrom(...words.split(" ")), texts);
  const { values } = fc.letrec((tie) => ({
    values: fc.oneof(
      { maxDepth: 3 },
      fc.array(texts, { minLength: 1, maxLength: 3 }).map((some) => some.join("\n")),
      fc.integer(),
      fc.array(tie("values"), { maxLength: 3 }),
      fc.dictionary(keys, tie("values"), { maxKeys: 3, noNullPrototype: true }),
    ),
  }));
  fc.assert(
    fc.property(values, (given) => {
      assert.equal(redactor.jsonText(JSON.stringify(given)), JSON.stringify(redactor.json(given)));
    }),
    { numRuns: 500 },
  );
});

test("ordinary text of this project and of others is hardly ever taken for a secret", () => {
  const redactor = makeRedactor();
  const root = join(import.meta.dirname, "..", "..");
  const count = (pattern: string) => {
    const files = globSync(pattern, { cwd: root }).map((file) => readFileSync(join(root, file), "utf8"));
    return { files: files.length, found: files.flatMap((text) => redactor.find(text)).length };
  };
  assert.equal(count("{src,bench}/**/*.ts").found + count("{.,docs,docs/adr}/*.md").found, 0);
  const { files, found } = count("node_modules/*/*.md");
  assert.ok(files > 100 && found <= 2, `${found} in ${files} files`);
});

test("no text takes long, however it was made to", () => {
  const redactor = makeRedactor();
  redactor.register("A", "aaaaaaaaaaaa");
  const bytes = 1_048_576;
  const pieces = [
    "a",
    "sk-",
    "sk-ant-",
    "eyJ",
    "eyJaaaaaaaaaaaa.",
    "-----BEGIN PRIVATE KEY-----",
    "password=",
  ];
  const more = ['password:"', "://a:", "bearer ", "AKIAIOSFODNN7ABCDEFG ", "SG.aaaaaaaaaaaaaaaaaaaa.", "\\"];
  const lines = ["a\n", " \n", "\\n", "%0AYWFh"];
  for (const piece of [...pieces, ...more, ...lines, "YWFhYWFhYWFhYWFh"]) {
    const text = piece.repeat(Math.ceil(bytes / piece.length));
    const began = process.cpuUsage();
    redactor.text(text);
    const ms = process.cpuUsage(began).user / 1_000;
    // A pattern that looks back takes minutes; the slowest of these takes a quarter of a second.
    assert.ok(ms < 3_000, `${JSON.stringify(piece)} took ${ms} ms`);
  }
});
