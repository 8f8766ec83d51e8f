/** Saves bytes as a download. */

export function saveFile(name: string, pieces: readonly Uint8Array[]): void {
  const file = new Blob(pieces as readonly Uint8Array<ArrayBuffer>[] as Uint8Array<ArrayBuffer>[], {
    type: "application/octet-stream",
  });
  const address = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has taken it by then.
  requestAnimationFrame(() => requestAnimationFrame(() => URL.revokeObjectURL(address)));
}

/** An untrusted name as one that every file system accepts. */
export const fileName = (name: string): string =>
  name
    .replace(/[^\p{L}\p{N} ._-]/gu, "_")
    .replace(/^\.+/, "")
    .slice(0, 100) || "file";
