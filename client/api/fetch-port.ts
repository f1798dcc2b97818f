/** The part of `fetch` that the client uses; the runtime's own by default. */

export interface FetchInit {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
  readonly signal: AbortSignal;
}

export interface FetchReply {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

export type FetchPort = (url: string, init: FetchInit) => Promise<FetchReply>;

/**
 * A redirect is not followed: a signature is for one address, and its headers are for one host. Cookies are neither sent
 * nor kept.
 */
const OPTIONS = { redirect: "error", credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer" } as const;

export const systemFetch: FetchPort = (url, init) => fetch(url, { ...init, ...OPTIONS });
