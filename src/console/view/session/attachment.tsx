/** Images and files of a message. An image is shown only if its type is inert. */
import { useEffect, useState, type ReactNode } from "react";
import { bytes as size } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { fileName, saveFile } from "../../ui/save-file.ts";
import { brief } from "../../ui/visible.ts";
import { useReading } from "../../query-cache.ts";
import { engine } from "../../server.ts";

export interface Attachment {
  readonly type: "image" | "file";
  readonly blob: string;
  readonly mediaType: string;
  readonly name?: string | undefined;
}

export const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];

interface Block {
  readonly type: string;
}

export const attachedIn = (blocks: readonly Block[] | undefined): readonly Attachment[] =>
  (blocks ?? []).filter(
    ({ type }) => type === "image" || type === "file",
  ) as unknown as readonly Attachment[];

export function Attachments({ of }: { readonly of: readonly Attachment[] }): ReactNode {
  if (of.length === 0) return null;
  return (
    <ul className="attachments">
      {of.map((one, place) => (
        <li key={`${one.blob}${place}`}>
          {one.type === "image" && imageTypes.includes(one.mediaType) ? (
            <Picture of={one} />
          ) : (
            <FileOf of={one} />
          )}
        </li>
      ))}
    </ul>
  );
}

/** The object URL of bytes, while they are shown. */
function useAddress(bytes: Uint8Array | undefined, type: string): string | null {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    if (bytes === undefined) return;
    const made = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>], { type }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, type]);
  return address;
}

function Picture({ of }: { readonly of: Attachment }): ReactNode {
  const { value, error } = useReading(`blob/${of.blob}`, () => engine.blob(of.blob));
  const address = useAddress(value, of.mediaType);
  const [isLarge, setLarge] = useState(false);
  if (error !== undefined && value === undefined) return <FileOf of={of} />;
  if (address === null) return <span className="attachment faint">Loading image…</span>;
  return (
    <button
      type="button"
      className="attachment-picture"
      data-large={isLarge || undefined}
      aria-pressed={isLarge}
      title={isLarge ? "Shrink" : "Enlarge"}
      onClick={() => setLarge(!isLarge)}
    >
      <img src={address} alt={`Attached: ${brief(of.name ?? of.mediaType, 80)}`} />
    </button>
  );
}

function FileOf({ of }: { readonly of: Attachment }): ReactNode {
  const [length, setLength] = useState<number | null>(null);
  const name = brief(of.name ?? "Unnamed file", 80);
  const save = async (): Promise<void> => {
    const bytes = await engine.blob(of.blob);
    setLength(bytes.length);
    saveFile(fileName(of.name ?? `${of.blob.slice(0, 12)}.bin`), [bytes]);
  };
  return (
    <span className="attachment">
      <span className="spread">
        <span className="cut" dir="auto">
          {name}
        </span>
        <span className="faint small">
          {brief(of.mediaType, 60)}
          {length === null ? "" : ` · ${size(length)}`}
        </span>
      </span>
      <Button size="small" aria-label={`Download ${name}`} act={save}>
        Download
      </Button>
    </span>
  );
}
