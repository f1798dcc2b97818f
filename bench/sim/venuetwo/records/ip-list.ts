/** A list of addresses and networks, separated by blanks, as agents have it. */
import { BlockList, isIP } from "node:net";

/** False for an empty list, and for entries that are neither. */
export function isListed(list: string, address: string): boolean {
  const entries = list.split(" ").filter((entry) => entry !== "");
  return entries.some((entry) => contains(entry, address.replace(/^::ffff:/, "")));
}

function contains(entry: string, address: string): boolean {
  const [network = "", prefix] = entry.split("/");
  const family = isIP(network);
  if (family === 0 || isIP(address) !== family) return false;
  const type = family === 4 ? "ipv4" : "ipv6";
  const known = new BlockList();
  if (prefix === undefined) known.addAddress(network, type);
  else known.addSubnet(network, Number(prefix), type);
  return known.check(address, type);
}
