/** Addresses of what the service calls. Pure. */
import { isLoopback } from "../http/server-address.js";

/** Encrypted, on this machine, or none at all. */
export function isSafeUrl(text: string): boolean {
  if (text === "") return true;
  const { protocol, hostname } = new URL(text);
  return protocol === "https:" || protocol === "wss:" || isLoopback(hostname.replace(/^\[|\]$/g, ""));
}
