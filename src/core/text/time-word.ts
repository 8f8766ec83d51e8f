/** The words that name a time where a position is expected; which moment they mean is found elsewhere. */

const forms = [
  /^-\d{1,6}[smhdw]$/,
  /^yesterday$/,
  /^\d{4}-\d{2}-\d{2}$/,
  /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})?$/,
];

/** `2026-11-16T09:00`, `2026-11-16`, `yesterday`, `-2h`: such a word names no checkpoint. */
export const isTimeWord = (word: string): boolean => forms.some((form) => form.test(word));
