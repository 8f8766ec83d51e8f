/** Tenants of a PostgreSQL database: lists them with their use, and sets their quotas. */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { Tenant, TenantChange, Tenants } from "../../store/driver.ts";
import { oneOf } from "../command/args.ts";
import { openHere } from "../open/tenants.ts";
import { table } from "../format/table.ts";
import { bytes, count, oneLine, plural } from "../format/text.ts";
import { verb, type VerbCall, type OptionValues } from "../command/verb.ts";

const options = {
  sessions: { type: "text", value: "N|none", what: "with set: the maximum number of sessions" },
  bytes: {
    type: "text",
    value: "N|none",
    what: "with set: the maximum bytes of contents and blobs; 10G, 500M",
  },
  role: { type: "text", value: "ROLE|none", what: "with set: the database role of this tenant" },
} as const;

export const tenants = verb({
  name: "tenants",
  line: "List the tenants of a database with their use, or set a quota.",
  args: ["ACTION?", "NAME?"],
  options,
  about: [
    "ACTION is list (the default) or set NAME, which creates a missing tenant. Tenants are for " +
      "stores in PostgreSQL; a file has one. Name yours in the URL: postgres://…?tenant=NAME.",
    "Past its quota a tenant opens no session, and past its bytes quota accepts no input either; " +
      "work in progress continues to its end. Use is counted every few seconds, so that a quota may " +
      "be exceeded by a little.",
    "With a role, the database itself restricts the tenant to its rows (row-level security). Make it " +
      "first, with a login; see docs/postgres.md.",
  ],
  examples: [
    "skein tenants --store postgres://skein@db/skein  # all tenants, with use and quota",
    "skein tenants set acme --sessions 1000 --bytes 10G  # a quota",
    "skein tenants set acme --role acme_app  # kept to its rows by the database",
    "skein tenants set acme --bytes none  # no limit",
  ],
  async run(call) {
    const action = oneOf("ACTION", call.args.ACTION ?? "list", ["list", "set"]);
    const { NAME } = call.args;
    const change = changeOf(call.options);
    checkWords(action, NAME, change);
    const opened = await openHere(call.place);
    try {
      await (NAME === undefined ? list(call, opened) : set(call, await opened.set(NAME, change)));
    } finally {
      await opened.close();
    }
  },
});

function checkWords(action: "list" | "set", name: string | undefined, change: TenantChange): void {
  if (action === "set" && name === undefined) {
    throw new SkeinError("invalid", "tenants set: NAME is required", {
      hint: "usage: skein tenants set NAME --sessions 1000",
    });
  }
  if (action === "list" && (name !== undefined || Object.keys(change).length > 0)) {
    throw new SkeinError("invalid", "tenants: NAME and options are only allowed with set", {
      hint: "usage: skein tenants set NAME --sessions 1000",
    });
  }
}

const units: Readonly<Record<string, number>> = { "": 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };

function numberOf(name: "sessions" | "bytes", text: string): number | null {
  if (text === "none") return null;
  const [, digits, unit = ""] = /^(\d{1,15})([KMGT]?)$/i.exec(text) ?? [];
  const number = Number(digits) * (units[unit.toUpperCase()] ?? 1);
  if (digits !== undefined && Number.isSafeInteger(number) && (unit === "" || name === "bytes"))
    return number;
  throw new SkeinError("invalid", `tenants: --${name}: expected a quota, got ${quote(text)}`, {
    hint: name === "bytes" ? "an integer, with K, M, G or T, or none" : "an integer, or none",
  });
}

function changeOf({ sessions, bytes: most, role }: OptionValues<typeof options>): TenantChange {
  return {
    ...(sessions === undefined ? {} : { sessionsMax: numberOf("sessions", sessions) }),
    ...(most === undefined ? {} : { bytesMax: numberOf("bytes", most) }),
    ...(role === undefined ? {} : { role: role === "none" ? null : role }),
  };
}

async function list({ out }: Pick<VerbCall, "out">, opened: Tenants): Promise<void> {
  const found = await opened.list();
  if (out.json) {
    for (const tenant of found) await out.emit(tenant);
    return;
  }
  if (found.length === 0) return out.note('no tenants; "skein open" makes one');
  const columns = [
    { title: "TENANT" },
    { title: "SESSIONS", align: "right" },
    { title: "OF" },
    { title: "BYTES", align: "right" },
    { title: "OF" },
    { title: "ROLE" },
  ] as const;
  const cells = found.map((tenant) => [
    oneLine(tenant.name),
    count(tenant.sessions),
    tenant.sessionsMax === null ? "-" : count(tenant.sessionsMax),
    bytes(tenant.bytes),
    tenant.bytesMax === null ? "-" : bytes(tenant.bytesMax),
    oneLine(tenant.role ?? "-"),
  ]);
  for (const line of table(columns, cells, { width: out.columns, heading: out.bold })) await out.line(line);
}

const set = ({ out }: Pick<VerbCall, "out">, tenant: Tenant): Promise<void> =>
  out.answer(tenant, () => {
    const { name, sessionsMax, bytesMax, role } = tenant;
    const most = [
      sessionsMax === null ? "any number of sessions" : plural(sessionsMax, "session"),
      bytesMax === null ? "any number of bytes" : bytes(bytesMax),
    ];
    const kept = role === null ? "" : `; the role ${oneLine(role)} is kept to it`;
    return [`${oneLine(name)} may have ${most.join(" and ")}${kept}`];
  });
