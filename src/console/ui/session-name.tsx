/** A session by its name, if only its id is known; by the id suffix until the name is read. */
import { shortId } from "../../core/text/short-id.ts";
import type { ReactNode } from "react";
import { Link } from "../link.tsx";
import { useReading } from "../query-cache.ts";
import { sessionPath } from "../route.ts";
import { sessionOf } from "../server.ts";
import { brief } from "./visible.ts";

export interface SessionTitle {
  readonly name: string;
  readonly status: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Null: it no longer exists. */
export function useSessionTitle(id: string): SessionTitle | null | undefined {
  return useReading(`session/${id}/title`, async (): Promise<SessionTitle | null> => {
    try {
      const { name, objective, status, labels } = await (await sessionOf(id)).state();
      return { name: name ?? objective ?? shortId(id), status, labels };
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === "not-found") return null;
      throw error;
    }
  }).value;
}

interface SessionNameProps {
  readonly id: string;
  /** A position in it. */
  readonly to?: number;
}

export function SessionName({ id, to }: SessionNameProps): ReactNode {
  const title = useSessionTitle(id);
  if (title === null) return <span className="faint">{shortId(id)} (deleted)</span>;
  return (
    <Link to={sessionPath(id, "transcript", { to })} dir="auto">
      {brief(title?.name ?? shortId(id), 80)}
    </Link>
  );
}
