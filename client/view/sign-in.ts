/** Signing in: what a person entered, and what the service's answer means. */
export const MAX_KEY_CHARS = 128;

/** The service wants a key, or does not take this one. A refusal of a scope or an address is no reason to drop a key. */
const KEY_CODES: ReadonlySet<string> = new Set([
  "AUTH_MISSING_HEADER",
  "AUTH_REQUIRED",
  "AUTH_UNKNOWN_KEY",
  "AUTH_BAD_SIGNATURE",
  "KEY_REVOKED",
]);

export function isAboutTheKey(code: string): boolean {
  return KEY_CODES.has(code);
}

interface Keys {
  readonly apiKey: string;
  readonly secret: string;
}

/** Of the first call with a key. */
type Answer = { readonly ok: true } | { readonly ok: false; readonly code: string; readonly error: string };

export type KeyRead = { readonly ok: true; readonly keys: Keys } | { readonly ok: false; readonly problem: string };

const PRINTABLE = /^[\x21-\x7e]+$/;

/** Copied text often has blanks around it, which no key and no secret has. */
export function readKeys(typedKey: string, typedSecret: string): KeyRead {
  const apiKey = typedKey.trim();
  const secret = typedSecret.trim();
  if (apiKey === "" || secret === "") return { ok: false, problem: "Enter the key and its secret." };
  if (!isKeyText(apiKey) || !isKeyText(secret)) return { ok: false, problem: "This is no key, or no secret." };
  return { ok: true, keys: { apiKey, secret } };
}

function isKeyText(text: string): boolean {
  return text.length <= MAX_KEY_CHARS && PRINTABLE.test(text);
}

/** Returns what is wrong with a key by the answer to its first call; "" if nothing is. */
export function signInProblem(result: Answer): string {
  if (result.ok || result.code === "SCOPE_MISSING") return "";
  return result.error;
}

/** As the button shows it. */
export function keyLabel(apiKey: string): string {
  return apiKey.length <= 14 ? apiKey : `${apiKey.slice(0, 9)}…${apiKey.slice(-4)}`;
}
