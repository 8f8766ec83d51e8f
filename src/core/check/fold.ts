/** Folds of accept checks. */
import { SortedMap } from "../sorted-map.ts";
import { type Folds, refOf, stand } from "../state-change.ts";
import type { CheckState } from "./check.ts";
import type { checkEvents } from "./events.ts";

export const checkFolds: Folds<keyof typeof checkEvents> = {
  "checks.set": (state, event) => {
    const before = state.standing.checks;
    const checks = event.body.checks.map(({ name, kind, digest }): [string, CheckState] => {
      const known = before.get(name);
      const same = known?.digest === digest ? known : { tries: 0, result: null };
      return [name, { kind, digest, tries: same.tries, result: same.result, ...refOf(event) }];
    });
    return stand(state, { checks: SortedMap.from(checks) });
  },
  "check.ran": (state, { body, seq }) => {
    const { checks } = state.standing;
    const known = checks.get(body.check);
    if (known?.digest !== body.digest) return state;
    const result = {
      status: body.status,
      seq,
      ...(body.commit === undefined ? {} : { commit: body.commit }),
    };
    return stand(state, { checks: checks.set(body.check, { ...known, tries: body.try, result }) });
  },
};
