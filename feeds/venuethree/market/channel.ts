/** Channel names: the client writes a slash between the parts, the venue a colon. */

/** `order_book:36` → name and market; market -1 for `all`, or none. Null means not of that form. */
export function readChannel(text: string): { readonly name: string; readonly marketId: number } | null {
  const match = /^([a-z_]{1,40})(?:[:/](\d{1,5}|all)(?:[:/][\w:/-]*)?)?$/.exec(text);
  if (match === null) return null;
  const part = match[2];
  return { name: match[1] ?? "", marketId: part === undefined || part === "all" ? -1 : Number(part) };
}

/** As the client writes it. */
export function toRequested(channel: string): string {
  return channel.replaceAll(":", "/");
}
