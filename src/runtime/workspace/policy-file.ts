/**
 * Policy files, in YAML or JSON:
 *
 *     do: expire
 *     after: 90d
 *     match:
 *       labels: { env: test }
 */
import { checkPolicy, type Policy } from "../../core/govern/policy.ts";
import { fromYaml } from "./agent-file.ts";

/** The policy in a file's text. Throws `invalid` with the line and the right spelling. */
export function parsePolicy(text: string, { path }: { readonly path?: string } = {}): Policy {
  const where = path ?? "the policy file";
  // JSON is YAML, too.
  const { given, lineOf } = fromYaml(text.replace(/^\uFEFF/, ""), where, 1);
  return checkPolicy(given, { where, lineOf });
}
