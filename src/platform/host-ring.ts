/** The hosts of a URL, of which one is the primary: the last working one is tried first. */

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export interface HostRing {
  /** All of them, in the order to try them. */
  order(): readonly HostPort[];
  /** This one is unusable now: the next is tried first. */
  skip(host: HostPort): void;
  /** This one accepted a connection. */
  use(host: HostPort): void;
}

export function makeHostRing(hosts: readonly HostPort[]): HostRing {
  let first = 0;
  return {
    order: () => [...hosts.slice(first), ...hosts.slice(0, first)],
    skip(host) {
      if (hosts[first] === host) first = (first + 1) % hosts.length;
    },
    use: (host) => void (first = Math.max(0, hosts.indexOf(host))),
  };
}
