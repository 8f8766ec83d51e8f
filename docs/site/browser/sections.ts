/** What search reads: one entry for each heading of the site. */
export interface SearchSection {
  /** `tools`, `adr/0001-record-decisions`. */
  readonly page: string;
  readonly title: string;
  readonly group: string;
  /** "" for the beginning of the page. */
  readonly anchor: string;
  readonly heading: string;
  readonly text: string;
}
