/**
 * Unregistered secrets by their looks: tokens with a known prefix, and values after names such as `password`.
 * Each look has anchors of four letters; only at an anchor is anything else compared, and no pattern reads
 * further than it may redact.
 */

export interface SecretSpan {
  readonly start: number;
  readonly end: number;
  readonly name: string;
}

export interface SecretPattern {
  /** In lower case; `?` stands for any letter or digit. */
  readonly anchors: readonly string[];
  /** The secret at an anchor; null if there is none. Reads a bounded distance, because texts are hostile. */
  find(text: string, at: number): SecretSpan | null;
  /** Whether a text with escaped JSON may hold one at this anchor. Absent: the anchor is rare enough. */
  may?(text: string, at: number): boolean;
  /** A match is a secret by itself, regardless of the text before it. */
  readonly sure?: boolean;
}

const word = /[A-Za-z0-9_-]/;
/** A name before a token may end in a hyphen or an underscore: a branch, a variable, a file. */
const letter = /[A-Za-z0-9]/;
const nothing = /(?!)/;

/** Whether a token may begin here: not within another. An escaped line end is not a letter. */
function begins(text: string, at: number, within = word): boolean {
  if (at === 0) return true;
  const before = text[at - 1] ?? "";
  return !within.test(before) || ("nrtbf".includes(before) && text[at - 2] === "\\");
}

function sticky(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

const hasDigit = /\d/;
const hasUpper = /[A-Z]/;
const hasLetter = /[A-Za-z]/;
const longHex = /[0-9a-f]{24}/;

interface TokenForm {
  readonly name: string;
  readonly anchors: readonly string[];
  readonly pattern: RegExp;
  readonly when?: (token: string) => boolean;
  /**
   * What may not stand before it; default: any part of a word. Only for a pattern whose tail cannot hold its
   * anchor: others would read the same text again from every anchor in it.
   */
  readonly within?: RegExp;
}

const isMixed = (token: string): boolean => hasDigit.test(token) && hasLetter.test(token);
const isKey = (token: string): boolean => {
  const tail = token.slice(3);
  return hasDigit.test(tail) && (hasUpper.test(tail) || longHex.test(tail));
};

const tokenForms: readonly TokenForm[] = [
  { name: "anthropic-key", anchors: ["sk-a"], pattern: /sk-ant-[A-Za-z0-9_-]{16,}/y, when: isMixed },
  { name: "api-key", anchors: ["sk-?"], pattern: /sk-[A-Za-z0-9_-]{20,}/y, when: isKey },
  {
    name: "stripe-key",
    anchors: ["sk_l", "sk_t", "rk_l", "rk_t"],
    pattern: /[sr]k_(?:live|test)_[A-Za-z0-9]{16,}/y,
    within: letter,
  },
  {
    name: "github-token",
    anchors: ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
    pattern: /gh[pousr]_[A-Za-z0-9]{30,}/y,
    when: isMixed,
    within: nothing,
  },
  { name: "github-token", anchors: ["gith"], pattern: /github_pat_[A-Za-z0-9_]{30,}/y, when: isMixed },
  { name: "gitlab-token", anchors: ["glpa"], pattern: /glpat-[A-Za-z0-9_-]{16,}/y },
  {
    name: "slack-token",
    anchors: ["xoxa", "xoxb", "xoxe", "xoxp", "xoxr", "xoxs"],
    pattern: /xox[abeprs]-[A-Za-z0-9-]{10,}/y,
    when: (token) => hasDigit.test(token),
  },
  { name: "google-key", anchors: ["aiza"], pattern: /AIza[A-Za-z0-9_-]{35,}/y },
  { name: "google-token", anchors: ["ya29"], pattern: /ya29\.[A-Za-z0-9_-]{20,}/y },
  {
    name: "skein-token",
    anchors: ["skn_"],
    pattern: /skn_[A-Za-z0-9_-]{2,84}_[0-9a-hjkmnp-tv-z]{26}_[A-Za-z0-9_-]{43}/y,
  },
  {
    name: "npm-token",
    anchors: ["npm_"],
    pattern: /npm_[A-Za-z0-9]{30,}/y,
    when: isMixed,
    within: letter,
  },
  { name: "pypi-token", anchors: ["pypi"], pattern: /pypi-[A-Za-z0-9_-]{40,}/y, when: isKey },
  { name: "digitalocean-token", anchors: ["dop_", "doo_", "dor_"], pattern: /do[opr]_v1_[0-9a-f]{40,}/y },
  {
    name: "sendgrid-key",
    anchors: ["sg.?"],
    pattern: /SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/y,
    // Of the usual length, or with a digit: module names are neither.
    when: (token) => isMixed(token) || /^.{3}[^.]{22}\.[^.]{43}$/.test(token),
  },
  { name: "hugging-face-token", anchors: ["hf_?"], pattern: /hf_[A-Za-z0-9]{30,}/y, within: letter },
  {
    name: "jwt",
    anchors: ["eyj?"],
    pattern: /eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{10,}/y,
  },
];

const tokenLooks: readonly SecretPattern[] = tokenForms.map(({ name, anchors, pattern, when, within }) => ({
  anchors,
  sure: true,
  find(text, at) {
    if (!begins(text, at, within)) return null;
    const [token] = sticky(pattern, text, at) ?? [];
    if (token === undefined || when?.(token) === false) return null;
    return { start: at, end: at + token.length, name };
  },
}));

const awsId = /(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])/y;

/** A key id, and the key itself if it follows soon. */
const awsLook: SecretPattern = {
  anchors: ["akia", "asia"],
  sure: true,
  may: (text, at) => sticky(awsId, text, at) !== null,
  find(text, at) {
    if (!begins(text, at, letter)) return null;
    const id = sticky(awsId, text, at)?.[0];
    if (id === undefined) return null;
    const near = text.slice(at + id.length, at + id.length + 160);
    const key = /(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])/.exec(near);
    const isPair = key !== null && isMixed(key[0]) && hasUpper.test(key[0]);
    const end = at + id.length + (isPair ? key.index + key[0].length : 0);
    return { start: at, end, name: "aws-key" };
  },
};

const keyBegin = /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----/y;
const keyEnd = /-----END [A-Z0-9 ]{0,60}-----/y;
const keyLines = /(?:\s|\\[nr])*(?:[A-Za-z0-9+/=]{16,}(?:\s|\\[nr])+)*(?:[A-Za-z0-9+/=]{16,})?/y;
const keyCharsMax = 32_768;

/** The whole private key; without an end marker, as far as it looks like one. */
const privateKeyLook: SecretPattern = {
  anchors: ["-beg"],
  sure: true,
  find(text, anchor) {
    const at = anchor - 4;
    const begin = at < 0 ? undefined : sticky(keyBegin, text, at)?.[0];
    if (begin === undefined) return null;
    const from = at + begin.length;
    const next = text.indexOf("-----", from);
    const end = next === -1 || next - from > keyCharsMax ? null : sticky(keyEnd, text, next);
    if (end !== null) return { start: at, end: next + end[0].length, name: "private-key" };
    const lines = sticky(keyLines, text, from)?.[0].trimEnd() ?? "";
    return /[A-Za-z0-9+/=]{16}/.test(lines)
      ? { start: at, end: from + lines.length, name: "private-key" }
      : null;
  },
};

const credentials = /:\/\/([^\s:@/?#"'`<>\\]{0,64}):([^\s@/"'`<>\\]{1,256})@[A-Za-z0-9[]/y;

/** `postgres://user:password@host`: the password alone. */
const urlLook: SecretPattern = {
  anchors: ["://?", "://%", "://:", "://_"],
  may: (text, at) => sticky(credentials, text, at) !== null,
  find(text, at) {
    const found = sticky(credentials, text, at);
    const [, user = "", password] = found ?? [];
    if (password === undefined || password.length < 6 || isPlaceholder(password)) return null;
    const start = at + 4 + user.length;
    return { start, end: start + password.length, name: "url-password" };
  },
};

const scheme = /(?:bearer|basic)[ \t]+([A-Za-z0-9._~+/=-]{6,})/iy;
const header = /authorization\\{0,4}["']?[ \t]{0,4}[:=,][ \t]{0,4}\\{0,4}["'`]?$/i;

/** `Authorization: Bearer …`, and a bearer token elsewhere if no other look matches. */
const headerLook: SecretPattern = {
  anchors: ["bear", "basi"],
  may: (text, at) => sticky(scheme, text, at) !== null,
  find(text, at) {
    if (!begins(text, at)) return null;
    const found = sticky(scheme, text, at);
    const [whole = "", token] = found ?? [];
    if (token === undefined || isPlaceholder(token)) return null;
    const isHeader = header.test(text.slice(Math.max(0, at - 40), at));
    const isLong = /^b[e]/i.test(whole) && token.length >= 20 && isMixed(token) && !token.includes("//");
    if (!isHeader && !isLong) return null;
    const end = at + whole.length;
    return { start: end - token.length, end, name: "authorization" };
  },
};

/** Prefixes of field names with secret values; the part before them does not matter. */
const fieldNames: readonly { readonly name: string; readonly pattern: RegExp }[] = [
  { name: "password", pattern: /pass(?:word|wd|phrase|code)(?![a-z])/iy },
  { name: "secret", pattern: /secret(?:[_-]?(?:access[_-]?)?key(?:[_-]?base)?|[_-]?value)?(?![a-z])/iy },
  { name: "api-key", pattern: /api[_-]?key(?![a-z])/iy },
  { name: "token", pattern: /(?:access|auth|refresh|id|bearer|session|bot|api)[_-]?token(?![a-z])/iy },
  { name: "private-key", pattern: /private[_-]?key(?![a-z])/iy },
  { name: "access-key", pattern: /access[_-]?key(?![a-z_-])/iy },
  { name: "token", pattern: /_TOKEN(?![A-Za-z])/y },
  { name: "encryption-key", pattern: /(?:encryption|signing|master|account)[_-]?key(?![a-z])/iy },
];
const fieldAnchors = (
  "pass secr api_ apik api- apit priv encr sign mast acco " +
  "acce auth refr id_t idto bear sess bot_ bott _tok"
).split(" ");

/** The kind of secret in a field of this name; null if it holds none. */
export function secretField(field: string): string | null {
  if (field.length > 64) return null;
  for (const { name, pattern } of fieldNames) {
    for (const at of startsIn(field)) {
      const found = sticky(pattern, field, at);
      if (found !== null && at + found[0].length === field.length) return name;
    }
  }
  if (/(?:github|gitlab|slack|npm|discord|vault|oauth|personal)[_-]?token$/i.test(field)) return "token";
  if (field.endsWith("_TOKEN")) return "token";
  return /^(?:proxy-)?authorization$/i.test(field) ? "authorization" : null;
}

/** Where words begin in a name: `db_password`, `dbPassword`, `PASSWORD`. */
function startsIn(field: string): readonly number[] {
  const starts = [0];
  for (let at = 1; at < field.length; at++) {
    const before = field[at - 1] ?? "";
    const isHump = hasUpper.test(field[at] ?? "") && !hasUpper.test(before);
    if (isHump || !/[A-Za-z0-9]/.test(before)) starts.push(at);
  }
  return starts;
}

/** What may separate a name and its value. */
const between = /(?:\\{0,4}["'`])?[ \t]{0,4}(?::=|=>|[:=])[ \t]{0,4}(\\{0,4}["'`])?/y;
const quoted = /[^\s"'`\\]{6,512}/y;
const bare = /[^\s"'`\\,;&<>(){}[\]|]{6,512}/y;
const more = /[^\s"'`\\]{0,}/y;
const moreBare = /[^\s"'`\\,;&<>(){}[\]|]{0,}/y;

const fieldLook: SecretPattern = {
  anchors: fieldAnchors,
  may(text, at) {
    const after = nameAt(text, at)?.end;
    return after !== undefined && sticky(/\\{0,9}["'`]?[ \t]{0,4}(?::=|=>|[:=])/y, text, after) !== null;
  },
  find(text, at) {
    const field = nameAt(text, at);
    const found = field === null ? null : sticky(between, text, field.end);
    if (field === null || found === null) return null;
    const start = field.end + found[0].length;
    const isQuoted = found[1] !== undefined;
    const value = sticky(isQuoted ? quoted : bare, text, start)?.[0];
    if (value === undefined || isPlaceholder(value)) return null;
    const isGiven = isQuoted
      ? isGivenQuoted(text, start, value)
      : isGivenBare(text, { at, start, gap: found[0] }, value);
    if (!isGiven) return null;
    const rest = sticky(isQuoted ? more : moreBare, text, start)?.[0] ?? value;
    return { start, end: start + rest.length, name: field.name };
  },
};

/** Field names that only JSON uses: at one the text is parsed, and `secretField` decides. */
const jsonFieldLook: SecretPattern = {
  anchors: ["auth", "_tok", "-tok", "btok", "ktok", "mtok", "dtok", "ttok", "htok", "ltok"],
  may: (text, at) => sticky(jsonField, text, at) !== null,
  find: () => null,
};
const jsonField = /(?:authorization|[_a-z-]token)\\{0,9}["'][ \t]{0,4}:/iy;

function nameAt(text: string, at: number): { readonly name: string; readonly end: number } | null {
  for (const { name, pattern } of fieldNames) {
    const found = sticky(pattern, text, at);
    if (found !== null) return { name, end: at + found[0].length };
  }
  return null;
}

const letters = /^\p{L}[\p{L}\p{M}_.:!?…*-]*$/u;

/** A quoted value that is neither a word nor code. */
function isGivenQuoted(text: string, start: number, value: string): boolean {
  const after = text[start + value.length];
  if (value.length < 512 && after !== undefined && !/["'`\\]/.test(after)) return false;
  if (/^\.{0,2}\/|:\/\//.test(value)) return false;
  return !letters.test(value) && !/[${}<>]/.test(value.slice(0, 2));
}

/**
 * A value after `NAME=` or `name: ` that is not a name, call or expression. A name in capitals at the
 * beginning of a line is an environment variable, whose value may be a single word.
 */
function isGivenBare(
  text: string,
  { at, start, gap }: { readonly at: number; readonly start: number; readonly gap: string },
  value: string,
): boolean {
  if (/^[[(<{$%&*!/\\@#.]/.test(value) || value.includes("=>") || /[:,.]$/.test(value)) return false;
  if (/^[A-Za-z]+:\/\//.test(value) || value.includes("…")) return false;
  const line = text.slice(Math.max(0, at - 64), at);
  const isVariable =
    gap === "=" &&
    /(?:^|\n|\\n|export |set |env |-e )[A-Z0-9_]*$/.test(line) &&
    hasUpper.test(text.slice(at, at + 2));
  if (isVariable) return true;
  // Names, paths of names, calls: program code.
  if (/^[A-Za-z_$][A-Za-z_$.!?/-]*$/.test(value) && !/[/-][.!?]*$/.test(value)) return false;
  if (/^[\w$]+[.([]/.test(value)) return false;
  const after = text[start + value.length];
  if (/^[A-Za-z_$][\w$]*$/.test(value) && after !== undefined && /[,;)]/.test(after)) return false;
  return hasDigit.test(value) && (hasLetter.test(value) || value.length >= 8);
}

const placeholders = new RegExp(
  [
    "^(?:\\[redacted|[x*•.?_-]+$|<|\\$|%[A-Za-z_]|\\{|#\\{",
    "your[-_ ]|change[-_]?(?:me|it)|process\\.|env[.:]|os\\.",
    "(?:example|sample|placeholder|dummy|insert|replace|enter|u?int\\d)",
    "(?:password|passwd|pass|pwd|secret|token|key|value|string|number|boolean|object|undefined|null)$",
    "(?:none|true|false|required|optional|hidden|masked|redacted|removed|username|api[-_]?key)$)",
  ].join("|"),
  "i",
);

/** Placeholders that people write in place of a secret. */
const isPlaceholder = (value: string): boolean => placeholders.test(value);

/** A value after a secret name in JSON, also a single word: sentences there have spaces. */
export const isFieldValue = (value: string): boolean =>
  value.length >= 6 && value.length <= 4_096 && !/\s/.test(value) && !isPlaceholder(value);

/** One of several values after a secret name: rules and setting names also appear there, as single words. */
export const isListedValue = (value: string): boolean => isFieldValue(value) && isMixed(value);

/** A field that holds the secret itself, in an object after a secret name; the others describe it. */
export const holdsValue = (field: string): boolean =>
  /^(?:value|raw|plain(?:[_-]?text)?|text|data|content|current|previous|string[_-]?value)$/i.test(field);

export const looks: readonly SecretPattern[] = [
  ...tokenLooks,
  awsLook,
  privateKeyLook,
  urlLook,
  headerLook,
  fieldLook,
  jsonFieldLook,
];
