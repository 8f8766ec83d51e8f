/** Prints every error text of src: `file:line`, how it is made, its code, message and hint. Arguments name folders. */
import { errorTexts } from "../test/repo/error-list.ts";
import { readSources } from "../test/repo/source.ts";

const folders = process.argv.slice(2);
for (const { where, made, code, message, hint } of errorTexts(readSources("src"))) {
  if (folders.length > 0 && !folders.some((folder) => where.startsWith(folder))) continue;
  console.log(`${where} ${made}${code === null ? "" : ` (${code})`}: ${message}`);
  if (hint !== null) console.log(`    hint: ${hint}`);
}
