/** Validates the arguments and options of a call against its description. */
import * as z from "zod";
import { checkOptions, SkeinError } from "../core/error.ts";
import { complaintAbout, withoutUndefined, writtenPath } from "../core/text/shape.ts";
import type { Operation } from "./operation.ts";
import { localOperations } from "./local.ts";
import { operations, type OperationId } from "./operations.ts";

type CallId = OperationId | keyof typeof localOperations;

const described: Readonly<Record<CallId, Operation>> = { ...operations, ...localOperations };
const operationOf = (id: CallId): Operation => described[id];

type Values = Readonly<Record<string, unknown>>;

interface KnownOptions {
  readonly names: readonly string[];
  /** Required options. */
  readonly required: readonly string[];
}

/** Pure cache: descriptions never change. */
const known = new Map<CallId, KnownOptions>();

function knownOf(id: CallId): KnownOptions {
  const before = known.get(id);
  if (before !== undefined) return before;
  const { args, params, keyed, local, remote }: Operation = operationOf(id);
  const own = Object.keys(params.shape).filter((name) => !args.includes(name) && !remote.includes(name));
  const shape = params.shape as Readonly<Record<string, z.core.$ZodType>>;
  const isRequired = (name: string): boolean => shape[name]?._zod.optin !== "optional";
  const found = {
    names: [...own, ...(keyed ? ["key"] : []), ...Object.keys(local)],
    required: own.filter(isRequired),
  };
  known.set(id, found);
  return found;
}

/** Refuses unknown options, and values that the description does not allow. `args` are positional. */
export function checkCall(id: CallId, options: object, args: Values = {}): void {
  // Refuses options that the call does not have, with the nearest right spelling.
  checkOptions(operationOf(id).call, options, knownOf(id).names);
  const given = options as Values;
  for (const name of knownOf(id).required) checkField(id, name, given[name]);
  for (const name of Object.keys(given)) if (given[name] !== undefined) checkField(id, name, given[name]);
  for (const name of Object.keys(args)) checkField(id, name, args[name]);
}

function checkField(id: CallId, name: string, value: unknown): void {
  const { call, params, inProcess } = operationOf(id);
  const schema = params.shape[name] as z.ZodType | undefined;
  if (schema === undefined || schema.safeParse(value).success || inProcess[name]?.(value) === true) return;
  const plain = { [name]: withoutUndefined(value) };
  const whole = z.strictObject({ [name]: schema });
  if (whole.safeParse(plain).success) return;
  const { path, message, hint } = complaintAbout(whole, plain);
  throw new SkeinError("invalid", `${call}: ${message}`, { hint, field: writtenPath(path) });
}
