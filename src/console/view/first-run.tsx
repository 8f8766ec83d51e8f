/** The first run: explains sessions, and offers samples. */
import { useState, type ReactNode } from "react";
import { useRefusal } from "../scopes.ts";
import { plural } from "../ui/amount.ts";
import { AskFirst } from "../ui/confirm.tsx";
import { Button } from "../ui/button.tsx";
import { tell } from "../ui/toast.tsx";
import { go, sessionPath } from "../route.ts";
import { makeSamples, removeSamples, useSampleProgress, useSamples } from "../sample.ts";
import type { SampleProgress } from "../sample/maker.ts";
import "./first-run.css";

interface FirstRunProps {
  /** Opens the dialog for a new session. */
  readonly open: () => void;
}

/** In place of the list of sessions while it is empty. */
export function FirstRun({ open }: FirstRunProps): ReactNode {
  const progress = useSampleProgress();
  return (
    <section className="first" aria-label="First steps">
      <h1>There are no sessions yet</h1>
      <ul className="first-lines">
        <li>
          A <b>session</b> is one piece of work with one objective. An agent works on it in turns, and every
          step can be seen.
        </li>
        <li>
          Whatever happens is kept in its <b>log</b>. Nothing is lost when a program stops, and you can look
          at any moment again.
        </li>
        <li>
          From any moment you can <b>fork</b> it to try something else, <b>rewind</b> it, or <b>merge</b> what
          was learned.
        </li>
      </ul>
      {progress === null ? <FirstSteps open={open} /> : <Making progress={progress} />}
      <details className="first-more">
        <summary>The same from a terminal</summary>
        <dl className="facts">
          {commands.map(([command, what]) => (
            <div key={command} className="keys-row">
              <dt>
                <code>{command}</code>
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
      </details>
    </section>
  );
}

const commands = [
  ["skein tour", "shows what Skein does, in a store of its own"],
  ["skein open", "opens a session"],
  ["skein chat", "talks with one"],
  ["skein ps", "lists them"],
  ["skein help", "says all the rest"],
] as const;

const makingNeeds = ["engine.open", "engine.addAgent", "engine.trigger"] as const;

function FirstSteps({ open }: FirstRunProps): ReactNode {
  const opening = useRefusal("engine.open");
  const making = useRefusal(...makingNeeds);
  return (
    <div className="first-steps">
      <div className="stack">
        <h2>Begin</h2>
        <p className="soft">Say what it is for. It needs no key: a model that works offline is built in.</p>
        <div className="row">
          <Button kind="main" act={open} refusal={opening}>
            New session <kbd className="key">n</kbd>
          </Button>
        </div>
      </div>
      <div className="stack">
        <h2>Look around</h2>
        <p className="soft">
          A sample family of eight sessions, really run by the offline model. It takes a few seconds, is
          marked as a sample, and goes with one click.
        </p>
        <div className="row">
          <Button act={make} refusal={making}>
            Make the sample family
          </Button>
        </div>
      </div>
    </div>
  );
}

async function make(): Promise<void> {
  const first = await makeSamples();
  tell("The sample family is made.", { name: "Look at it", act: () => go(sessionPath(first)) });
}

async function remove(): Promise<void> {
  const removed = await removeSamples();
  tell(`${plural(removed ?? 0, "sample session")} removed. The agent sample-clerk stays, as agents do.`);
}

function Making({ progress }: { readonly progress: SampleProgress }): ReactNode {
  const { done, of, says } = progress;
  return (
    <div className="first-making" role="status">
      <label className="labeled">
        <span>{says}…</span>
        <progress value={done} max={of} aria-label="The sample family" />
      </label>
    </div>
  );
}

/** A note above the list, while it contains samples. */
export function SampleNote(): ReactNode {
  const progress = useSampleProgress();
  const { value } = useSamples();
  const making = useRefusal(...makingNeeds);
  const removing = useRefusal("engine.delete", "engine.untrigger", "engine.forget");
  const [isAsking, setAsking] = useState(false);
  if (progress !== null) return <Making progress={progress} />;
  if (value === undefined || value.sessions === 0) return null;
  return (
    <div className="first-note">
      <span className="mark" data-tone="accent">
        sample
      </span>
      {value.isUnfinished ? (
        <>
          <p className="spread">The making of the sample family was broken off.</p>
          <Button size="small" act={make} refusal={making}>
            Go on
          </Button>
        </>
      ) : (
        <p className="spread">
          {plural(value.sessions, "session")} here {value.sessions === 1 ? "is a sample" : "are samples"}.
        </p>
      )}
      <Button size="small" act={() => setAsking(true)} refusal={removing}>
        Remove the samples
      </Button>
      {isAsking ? (
        <AskFirst
          title="Remove the samples"
          does={`Remove ${plural(value.sessions, "session")}`}
          act={remove}
          close={() => setAsking(false)}
        >
          <p>
            {plural(value.sessions, "sample session")}, their memory and their trigger are deleted for good,
            with everything that was written in them since.
          </p>
        </AskFirst>
      ) : null}
    </div>
  );
}
