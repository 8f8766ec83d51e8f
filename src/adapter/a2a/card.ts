/** Agent cards: what a client reads before it connects. */
import { SkeinError } from "../../core/error.ts";
import { version } from "../../core/version.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { invalid } from "./errors.ts";

/** A part of `/a2a` for one agent of the workspace, or for sessions without one. */
interface CardPlace {
  /** The server's URL. */
  readonly url: string;
  readonly agent: string | null;
  readonly pushes: boolean;
}

interface Skill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
}

const texts = ["text/plain", "application/json"];

const wholeSkill: Skill = {
  id: "session",
  name: "Durable session",
  description: "Works on messages in a durable session. Tasks survive crashes and restarts of the server.",
  tags: ["session"],
};

/** What anyone may know: it names nothing of the workspace. */
export const publicCard = (url: string, pushes: boolean): object =>
  cardOf(
    { url, agent: null, pushes },
    { name: "Skein", description: wholeSkill.description, skills: [wholeSkill] },
  );

/** The card for those with a token: of one agent, or of the workspace with its agents as skills. */
export async function extendedCard(engine: Engine, place: CardPlace): Promise<object> {
  const { agent } = place;
  if (agent === null) {
    const agents = (await engine.agents()).map(({ name, description }) => skillOf(name, description));
    const skills = [wholeSkill, ...agents];
    return cardOf(place, { name: "Skein", description: wholeSkill.description, skills });
  }
  const { name, definition } = await findAgent(engine, agent);
  const skill = skillOf(name, definition.description);
  return cardOf(place, { name, description: skill.description, skills: [skill] });
}

/** The agent that a request names as its tenant. */
export async function findAgent(engine: Engine, name: string) {
  try {
    return await engine.agent(name);
  } catch (error) {
    if (!(error instanceof SkeinError) || (error.code !== "not-found" && error.code !== "invalid"))
      throw error;
    throw invalid(`tenant: there is no agent ${name.slice(0, 100)}`);
  }
}

function skillOf(name: string, description: string | null | undefined): Skill {
  const text = description ?? "";
  return { id: name, name, description: text === "" ? `The agent ${name}.` : text, tags: ["agent"] };
}

function cardOf(
  { url, agent, pushes }: CardPlace,
  about: { readonly name: string; readonly description: string; readonly skills: readonly Skill[] },
): object {
  const tenant = agent === null ? {} : { tenant: agent };
  const place = { url: `${url}/a2a`, protocolVersion: "1.0", ...tenant };
  return {
    ...about,
    version,
    supportedInterfaces: [
      { ...place, protocolBinding: "JSONRPC" },
      { ...place, protocolBinding: "HTTP+JSON" },
    ],
    capabilities: { streaming: true, pushNotifications: pushes, extendedAgentCard: true },
    securitySchemes: {
      bearer: { httpAuthSecurityScheme: { scheme: "Bearer", description: "A token of skein tokens add" } },
    },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: [...texts, "image/*", "application/octet-stream"],
    defaultOutputModes: texts,
  };
}
