/** The first run: explains sessions, and offers samples. */
import { useState, type ReactNode } from "react";
import { useRefusal } from "../scopes.ts";
import { Link } from "../link.tsx";
import { plural } from "../ui/amount.ts";
import { AskFirst } from "../ui/confirm.tsx";
import { Button } from "../ui/button.tsx";
import { showToast } from "../ui/toast.tsx";
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
      <h1>No sessions yet</h1>
      <ul className="first-lines">
        <li>
          A <b>session</b> is one piece of work with one objective. An agent works on it in turns, and you see
          every step.
        </li>
        <li>
          Everything is recorded in its <b>log</b>. Nothing is lost in a crash, and you can view any earlier
          position.
        </li>
        <li>
          From any position you can <b>fork</b> it, <b>rewind</b> it, or <b>merge</b> the results back.
        </li>
      </ul>
      {progress === null ? <FirstSteps open={open} /> : <Making progress={progress} />}
      <details className="first-more">
        <summary>From a terminal</summary>
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
  ["skein tour", "shows what Skein does, in a separate store"],
  ["skein open", "opens a session"],
  ["skein chat", "talks with one"],
  ["skein ps", "lists them"],
  ["skein help", "lists all commands"],
] as const;

const makingNeeds = ["engine.open", "engine.addAgent", "engine.trigger"] as const;

function FirstSteps({ open }: FirstRunProps): ReactNode {
  const opening = useRefusal("engine.open");
  const making = useRefusal(...makingNeeds);
  return (
    <div className="first-steps">
      <div className="stack">
        <h2>Begin</h2>
        <p className="soft">Enter an objective. No key needed: an offline model is built in.</p>
        <div className="row">
          <Button kind="main" act={open} refusal={opening}>
            New session <kbd className="key">n</kbd>
          </Button>
        </div>
      </div>
      <div className="stack">
        <h2>Import</h2>
        <p className="soft">Your sessions of Claude Code, Codex and other tools, to search and continue.</p>
        <div className="row">
          <Link to="/import" className="button">
            Import sessions
          </Link>
        </div>
      </div>
      <div className="stack">
        <h2>Explore</h2>
        <p className="soft">
          Eight related sample sessions, run by the offline model. Takes a few seconds; remove them with one
          click.
        </p>
        <div className="row">
          <Button act={make} refusal={making}>
            Create the samples
          </Button>
        </div>
      </div>
    </div>
  );
}

async function make(): Promise<void> {
  const first = await makeSamples();
  showToast("Samples created.", { name: "View", act: () => go(sessionPath(first)) });
}

async function remove(): Promise<void> {
  const removed = await removeSamples();
  showToast(`${plural(removed ?? 0, "sample session")} removed. The agent sample-clerk stays.`);
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
          <p className="spread">Creating the samples was interrupted.</p>
          <Button size="small" act={make} refusal={making}>
            Resume
          </Button>
        </>
      ) : (
        <p className="spread">
          {plural(value.sessions, "session")} here {value.sessions === 1 ? "is a sample" : "are samples"}.
        </p>
      )}
      <Button size="small" act={() => setAsking(true)} refusal={removing}>
        Remove samples
      </Button>
      {isAsking ? (
        <AskFirst
          title="Remove samples"
          does={`Remove ${plural(value.sessions, "session")}`}
          act={remove}
          close={() => setAsking(false)}
        >
          <p>
            {plural(value.sessions, "sample session")}, their memory and their trigger are deleted for good,
            with everything added to them since.
          </p>
        </AskFirst>
      ) : null}
    </div>
  );
}
