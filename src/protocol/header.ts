/** Texts of any kind in the headers of a request, which by themselves hold ASCII only. */

const mark = "UTF-8''";
const isPlain = (text: string): boolean => /^[!-~](?:[ -~]*[!-~])?$/.test(text) && !text.startsWith(mark);

/** As it is where it can stand in a header; else marked and encoded. */
export const headerText = (text: string): string =>
  isPlain(text) ? text : `${mark}${encodeURIComponent(text)}`;

/** The text that a header holds; null when it is not rightly encoded. */
export function textInHeader(value: string): string | null {
  if (!value.startsWith(mark)) return value;
  try {
    return decodeURIComponent(value.slice(mark.length));
  } catch {
    return null;
  }
}
