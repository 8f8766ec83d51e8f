/**
 * Addresses of PostgreSQL with several hosts, postgres://h1:5432,h2/db: no parser of URLs takes them. What is
 * parsed has the first host alone, and the list is put back afterwards.
 */

/** Up to the hosts, and the hosts. */
const authority = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)/i;

/** The address with its first host alone, and the whole list; null when there is one host. */
export function splitHosts(place: string): { readonly plain: string; readonly hosts: string | null } {
  const [all = "", before = "", hosts = ""] = authority.exec(place) ?? [];
  if (!hosts.includes(",")) return { plain: place, hosts: null };
  return { plain: `${before}${hosts.split(",")[0]}${place.slice(all.length)}`, hosts };
}

/** The address with the list in place of its host. */
export const joinHosts = (href: string, hosts: string | null): string =>
  hosts === null ? href : href.replace(authority, (_, before: string) => `${before}${hosts}`);
