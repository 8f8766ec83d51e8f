/** The message field: for the next turn, or to steer the one in progress. */
import { useCallback, useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { showToast, showError } from "../../ui/toast.tsx";
import { brief } from "../../ui/visible.ts";
import { useShortcuts } from "../../shortcut.ts";
import { after, freshKey } from "../../world.ts";
import {
  asFile,
  givenOf,
  givenText,
  isTooLong,
  longName,
  pastedCharsMax,
  upload,
  type FileInput,
} from "./attach.ts";
import { send, type Mode } from "./pending.ts";
import { useScope } from "./scope.ts";
import { Standing, useWriting } from "./standing.tsx";

export function Composer(): ReactNode {
  const { at } = useScope();
  const writing = useWriting();
  if (at !== null) return null;
  return (
    <div className="composer">
      <Standing />
      {writing === "open" ? <Writing /> : null}
    </div>
  );
}

const draftName = (id: string): string => `skein-draft-${id}`;
const draftMs = 300;

/** By the session that goes on: the one whose draft it takes. */
const heirs = new Map<string, string>();

/** What is typed in one session is typed in the one that it goes on as. */
export const passDraft = (from: string, to: string): void => void heirs.set(to, from);

function readDraft(id: string): string {
  try {
    const from = heirs.get(id);
    heirs.delete(id);
    const passed = from === undefined ? null : sessionStorage.getItem(draftName(from));
    if (from !== undefined && passed !== null) {
      keepDraft(from, "");
      keepDraft(id, passed);
    }
    return sessionStorage.getItem(draftName(id)) ?? "";
  } catch {
    return "";
  }
}

function keepDraft(id: string, text: string): void {
  try {
    if (text === "") sessionStorage.removeItem(draftName(id));
    else sessionStorage.setItem(draftName(id), text);
  } catch {
    // Storage is full: the draft lives as long as the page.
  }
}

/** Added files, each uploaded at once; a failed one is reported and removed. */
function useGiven() {
  const [given, setGiven] = useState<readonly FileInput[]>([]);
  const add = useCallback((files: readonly File[]) => {
    for (const file of files) {
      const one = givenOf(file);
      setGiven((list) => [...list, one]);
      upload(file, one).then(
        (attached) =>
          setGiven((list) => list.map((other) => (other.id === one.id ? { ...other, attached } : other))),
        (error: unknown) => {
          showError(error);
          drop(one.id);
        },
      );
    }
  }, []);
  const drop = (id: number): void =>
    setGiven((list) => {
      const address = list.find((one) => one.id === id)?.address;
      if (address !== null && address !== undefined) URL.revokeObjectURL(address);
      return list.filter((one) => one.id !== id);
    });
  const addText = (text: string): void => setGiven((list) => [...list, givenText(text)]);
  return { given, add, addText, drop, clear: () => setGiven([]) };
}

/** The whole text to send: the typed part, then the pasted one. */
const textOf = (typed: string, given: readonly FileInput[]): string =>
  [typed.trim(), ...given.flatMap(({ text }) => text ?? [])].filter((one) => one !== "").join("\n\n");

function useWriter() {
  const { id, session } = useScope();
  const field = useRef<HTMLTextAreaElement>(null);
  const [isEmpty, setEmpty] = useState(() => readDraft(id) === "");
  const calledOff = useRef<(() => void) | null>(null);
  const files = useGiven();
  const typed = useRef<string | null>(null);
  const [isFile, setFile] = useState(false);
  const measure = (): void => setFile(isTooLong(textOf(field.current?.value ?? "", files.given)));
  useEffect(measure, [files.given]);
  useEffect(() => {
    // A page that is closed, reloaded or locked does not wait.
    const keep = (): void => {
      if (typed.current !== null) keepDraft(id, typed.current);
    };
    window.addEventListener("pagehide", keep);
    return () => {
      window.removeEventListener("pagehide", keep);
      calledOff.current?.();
      keep();
    };
  }, [id]);
  const changed = (): void => {
    const text = field.current?.value ?? "";
    typed.current = text;
    setEmpty(text.trim() === "");
    measure();
    field.current?.toggleAttribute("data-long", text.length > pastedCharsMax);
    calledOff.current?.();
    calledOff.current = after(draftMs, () => keepDraft(id, text));
  };
  const write = (text: string): void => {
    typed.current = text;
    if (field.current !== null) field.current.value = text;
    field.current?.toggleAttribute("data-long", text.length > pastedCharsMax);
    setEmpty(text.trim() === "");
    setFile(isTooLong(text));
    calledOff.current?.();
    keepDraft(id, text);
  };
  const isUploading = files.given.some(({ attached, text }) => attached === null && text === null);
  const mayGo = (!isEmpty || files.given.length > 0) && !isUploading;
  const go = async (mode: Mode): Promise<void> => {
    const text = textOf(field.current?.value ?? "", files.given);
    if (!mayGo || (text === "" && files.given.length === 0)) return;
    const attached = files.given.flatMap((one) => one.attached ?? []);
    write("");
    files.clear();
    field.current?.focus();
    try {
      const long = await asFile(text);
      const whole = long === null ? { text, attached } : { text: "", attached: [long, ...attached] };
      await send(session, { ...whole, key: freshKey(), mode, seq: null });
    } catch (error) {
      // The field may be unmounted, as after a logout: then it returns with the next one.
      if ((field.current?.value ?? "") === "") write(text);
      showError(error);
    }
  };
  return { field, files, changed, go, mayGo, isFile };
}

function Writing(): ReactNode {
  const { id, session, state, reread } = useScope();
  const { field, files, changed, go, mayGo, isFile } = useWriter();
  const [isOver, setOver] = useState(false);
  const isRunning = state.status === "running";
  useShortcuts([{ key: "i", what: "Write to the session", act: () => field.current?.focus() }]);
  useEffect(() => {
    // Once per page: most visitors want to write, but on a phone focusing would move the layout.
    if (matchMedia("(min-width: 761px)").matches) field.current?.focus({ preventScroll: true });
  }, [field]);
  const stop = async (): Promise<void> => {
    await session.interrupt();
    showToast("Interrupt requested.");
    reread();
  };
  const key = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      void go(isRunning && (event.ctrlKey || event.metaKey) ? "steer" : "queue");
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (isRunning) stop().catch(showError);
      else field.current?.blur();
    }
  };
  return (
    <form
      className="writing"
      data-over={isOver || undefined}
      aria-label="Write to the session"
      onSubmit={(event) => {
        event.preventDefault();
        void go("queue");
      }}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        files.add([...event.dataTransfer.files]);
      }}
      onPaste={(event) => {
        const text = event.clipboardData.getData("text/plain");
        const isLong = text.length > pastedCharsMax;
        if (event.clipboardData.files.length === 0 && !isLong) return;
        event.preventDefault();
        if (isLong) files.addText(text);
        files.add([...event.clipboardData.files]);
      }}
    >
      <GivenFiles given={files.given} drop={files.drop} />
      <textarea
        ref={field}
        rows={1}
        dir="auto"
        aria-label="Message"
        placeholder={
          isRunning ? "Queue a message; Ctrl+Enter adds it to the current turn" : "Write a message"
        }
        defaultValue={readDraft(id)}
        onChange={changed}
        onKeyDown={key}
      />
      <p className="small soft" role="status" hidden={!isFile}>
        {isFile ? `Too long for a message: sent as the file ${longName}.` : ""}
      </p>
      <div className="writing-actions">
        <Attach add={files.add} />
        <span className="spread faint small writing-hint">
          ↵ send · ⇧↵ new line{isRunning ? " · esc interrupt" : ""}
        </span>
        {isRunning ? (
          <>
            <Button act={stop}>Interrupt</Button>
            <Button disabled={!mayGo} act={() => go("steer")} title="Add to the current turn">
              Steer
            </Button>
          </>
        ) : null}
        <Button kind="main" disabled={!mayGo}>
          {isRunning ? "Queue" : "Send"}
        </Button>
      </div>
    </form>
  );
}

function Attach({ add }: { readonly add: (files: readonly File[]) => void }): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button kind="quiet" act={() => input.current?.click()}>
        Attach
      </Button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        onChange={({ target }) => {
          add([...(target.files ?? [])]);
          target.value = "";
        }}
      />
    </>
  );
}

interface GivenFilesProps {
  readonly given: readonly FileInput[];
  readonly drop: (id: number) => void;
}

function GivenFiles({ given, drop }: GivenFilesProps): ReactNode {
  if (given.length === 0) return null;
  return (
    <ul className="given">
      {given.map(({ id, name, address, attached, text }) => (
        <li key={id}>
          {address === null ? null : <img src={address} alt="" />}
          <span className="cut">{brief(name, 40)}</span>
          {attached === null && text === null ? (
            <span className="soft small" role="status">
              sending…
            </span>
          ) : null}
          <Button kind="quiet" size="small" aria-label={`Remove ${brief(name, 40)}`} act={() => drop(id)}>
            ×
          </Button>
        </li>
      ))}
    </ul>
  );
}
