/** A verb with actions, such as `tokens add` and `tokens revoke`: each action is a separate verb. */
import { once } from "../../core/cache.ts";
import { checkAction, oneOf, parseArgs, shownArg } from "./args.ts";
import type { VerbCall, Option, Options, Verb } from "./verb.ts";

/** The first is the default, and has the texts. */
export function joinActions(name: string, verbs: readonly Verb[]): Verb {
  const byAction = new Map(verbs.map((verb) => [verb.name.slice(name.length + 1), verb]));
  const actions = [...byAction.keys()];
  const [usual = ""] = actions;
  const options = once(() => joinOptions(byAction));
  const { line = "", about, examples = [] } = verbs[0] ?? {};
  return {
    name,
    line,
    args: ["ACTION?", "WORDS...?"],
    get usages() {
      return [...byAction].map(([action, verb]) =>
        ["skein", name, action === usual ? `[${action}]` : action, ...verb.args.map(shownArg)].join(" "),
      );
    },
    get options() {
      return options();
    },
    ...(about === undefined ? {} : { about }),
    examples,
    async run(call) {
      const given = call.args as unknown as { readonly ACTION?: string; readonly WORDS: readonly string[] };
      const action = oneOf("ACTION", given.ACTION ?? usual, actions);
      const takes = Object.fromEntries(
        [...byAction].map(([one, { options: its }]) => [one, Object.keys(its)]),
      );
      checkAction(name, action, call.options, takes);
      const verb = byAction.get(action);
      if (verb === undefined) return undefined;
      return verb.run({ ...call, args: parseArgs(verb, given.WORDS) as VerbCall["args"] });
    },
  };
}

/** The options of all actions; the help names the actions of those that not all take. */
function joinOptions(byAction: ReadonlyMap<string, Verb>): Options {
  const all = new Map<string, Option>();
  for (const { options } of byAction.values())
    for (const [name, option] of Object.entries(options)) if (!all.has(name)) all.set(name, option);
  return Object.fromEntries(
    [...all].map(([name, option]) => {
      const those = [...byAction].filter(([, verb]) => Object.hasOwn(verb.options, name)).map(([one]) => one);
      if (those.length === byAction.size) return [name, option];
      return [name, { ...option, what: `with ${those.join(", ")}: ${option.what}` }];
    }),
  );
}
