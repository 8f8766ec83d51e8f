/** The decision on an amendment. */
import { type Decisions, type DraftEvent, accept, draft, forbidden, refuse } from "../decision.ts";
import { limit } from "../limit.ts";
import { present } from "../present.ts";
import type { State } from "../state.ts";
import { grantDraft } from "../tool/drafts.ts";
import { inTurn } from "../turn/drafts.ts";
import type { AmendCommand, Amendment } from "./commands.ts";
import { amendedTexts } from "./events.ts";

export const amendDecisions: Decisions<AmendCommand["do"]> = {
  amend: (state, { do: _, ...amendment }) => {
    const refusal = forbidden(state, amendment.model === undefined ? "write" : "migrate", "be amended");
    if (refusal !== null) return refusal;
    const { grant = [] } = amendment;
    const names = new Set([
      ...state.standing.permissions.keys(),
      ...grant.map(({ name, tool }) => name ?? tool),
    ]);
    if (names.size > limit.permissionsMax)
      return refuse(
        "refused",
        `amend: agent: the session would have ${names.size} rules; the limit is ${limit.permissionsMax}`,
        "merge some of its rules first, or open a session of that agent",
      );
    const drafts = amendDrafts(state, amendment);
    if (drafts.length > 0) return accept(...drafts);
    return refuse(
      "invalid",
      "amend: specify at least one change, such as objective or instructions",
      'for example skein amend ID --objective "…" --because "…"',
    );
  },
};

/** The records of an amendment; none if it changes nothing. */
export function amendDrafts(state: State, amendment: Amendment): readonly DraftEvent[] {
  const { objective, instructions, constraints, because, pin, grant = [], model, left = [] } = amendment;
  const { temperature, reasoning, outputTokensMax } = amendment;
  const { definition, ...pinned } = pin ?? {};
  const texts = present({ objective, instructions, constraints: constraints && [...constraints] });
  const settings = present({ temperature, reasoning, outputTokensMax });
  const has = amendedTexts.filter((name) => texts[name] !== undefined);
  const changes = has.length + Object.keys(settings).length + Object.keys(pinned).length;
  const body = { has, ...pinned, ...settings };
  const content = { ...texts, ...present({ because, definition }) };
  const from = state.standing.model ?? undefined;
  return [
    ...(changes === 0 ? [] : [draft("session.amended", body, content, inTurn(state))]),
    ...grant.map((one) => grantDraft(one)),
    ...(model === undefined || model === from
      ? []
      : [
          draft(
            "session.migrated",
            present({ from, to: model }),
            left.length === 0 ? undefined : { left: [...left] },
          ),
        ]),
  ];
}
