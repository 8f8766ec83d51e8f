/** Reading standard input in the children of crash tests, before anything else happens in them. */
import { readSync } from "node:fs";

/** How many bytes came; 0 at the end. The pipe may be one that does not wait: then it is read again. */
export function readInput(bytes: Buffer, from: number): number {
  for (;;) {
    try {
      return readSync(0, bytes, from, bytes.length - from, null);
    } catch (error) {
      if ((error as { readonly code?: string }).code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}
