/**
 * PostgreSQL URLs with several hosts, postgres://h1:5432,h2/db: URL parsers reject them. Only the first host
 * is parsed, and the list is restored afterwards.
 */

/** The part up to the hosts, and the hosts. */
const authority = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)/i;

/** The URL with only its first host, and the whole list; null if there is one host. */
export function splitHosts(place: string): { readonly plain: string; readonly hosts: string | null } {
  const [all = "", before = "", hosts = ""] = authority.exec(place) ?? [];
  if (!hosts.includes(",")) return { plain: place, hosts: null };
  return { plain: `${before}${hosts.split(",")[0]}${place.slice(all.length)}`, hosts };
}

/** The URL with the list in place of its host. */
export const joinHosts = (href: string, hosts: string | null): string =>
  hosts === null ? href : href.replace(authority, (_, before: string) => `${before}${hosts}`);
