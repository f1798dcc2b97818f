/** How the core names an order at every venue. */

/** 128 bits as 32 lower-case digits. */
export function isClientIdHex(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}
