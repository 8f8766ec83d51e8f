/** Texts of any kind in request headers, which hold only ASCII. */

const mark = "UTF-8''";
const isPlain = (text: string): boolean => /^[!-~](?:[ -~]*[!-~])?$/.test(text) && !text.startsWith(mark);

/** Unchanged if it is valid in a header; otherwise marked and encoded. */
export const headerText = (text: string): string =>
  isPlain(text) ? text : `${mark}${encodeURIComponent(text)}`;

/** The text of a header; null if it is not correctly encoded. */
export function textInHeader(value: string): string | null {
  if (!value.startsWith(mark)) return value;
  try {
    return decodeURIComponent(value.slice(mark.length));
  } catch {
    return null;
  }
}
