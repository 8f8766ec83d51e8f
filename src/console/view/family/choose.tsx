/** Chooses another session: one of the family, or any other by its id. */
import { useState, type ReactNode } from "react";
import { Link } from "../../link.tsx";
import { Button } from "../../ui/button.tsx";
import { Status } from "../../ui/status.tsx";
import { WhenRead } from "../../ui/load-error.tsx";
import { useReading } from "../../query-cache.ts";
import { go } from "../../route.ts";
import { engine, sessionOf } from "../../server.ts";
import { useScope } from "../session/scope.ts";
import { titlesAmong } from "./relative.ts";

interface ChooseProps {
  readonly title: string;
  /** The URL for a session. */
  readonly toward: (session: string) => string;
}

const shownMax = 50;

export function Choose({ title, toward }: ChooseProps): ReactNode {
  const { id } = useScope();
  const [named, setNamed] = useState("");
  const lineage = useReading(`session/${id}/lineage`, () => engine.lineage(id));
  const open = async (): Promise<void> => go(toward((await sessionOf(named.trim())).id));
  return (
    <section className="family family-choose">
      <h2>{title}</h2>
      <WhenRead of={lineage}>
        {({ nodes }) => (
          <ul>
            {nodes
              .filter(({ session, status }) => session !== id && status !== "absent")
              .slice(0, shownMax)
              .map((node) => (
                <li key={node.session}>
                  <Link to={toward(node.session)} dir="auto">
                    {titlesAmong(nodes)(node)}
                  </Link>
                  <Status status={node.status} />
                </li>
              ))}
            {nodes.length > 1 ? null : <li className="soft">No related sessions.</li>}
          </ul>
        )}
      </WhenRead>
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
        }}
      >
        <label className="labeled spread">
          <span>Another session: id, or a unique suffix</span>
          <input className="field mono" value={named} onChange={(event) => setNamed(event.target.value)} />
        </label>
        <Button act={open} type="submit" disabled={named.trim() === ""}>
          Select
        </Button>
      </form>
    </section>
  );
}
