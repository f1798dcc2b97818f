/**
 * Every message of the two-party link: its number, who sends it, its place in its protocol and its legal lengths
 * (docs/mpc.md, 3.3). A type that is not here has no legal length.
 */

export const MESSAGE = {
  hello: 0x01,
  state: 0x02,
  stateReply: 0x03,
  count: 0x04,
  counted: 0x05,
  kg1: 0x10,
  kg2: 0x11,
  kg3: 0x12,
  kg4: 0x13,
  kg5: 0x14,
  kg6: 0x15,
  kg7: 0x16,
  kg8: 0x17,
  kg9: 0x18,
  kg10: 0x19,
  activate: 0x1a,
  activated: 0x1b,
  rf1: 0x20,
  rf2: 0x21,
  rf3: 0x22,
  rf4: 0x23,
  rf5: 0x24,
  rf6: 0x25,
  rf7: 0x26,
  rf8: 0x27,
  rf9: 0x28,
  rf10: 0x29,
  f1: 0x30,
  f2: 0x31,
  f3: 0x32,
  f4: 0x33,
  f5: 0x34,
  f6: 0x35,
  freeze: 0x70,
  frozen: 0x71,
  abort: 0x7f,
} as const;

export type MessageName = keyof typeof MESSAGE;
export type MessageType = (typeof MESSAGE)[MessageName];

/**
 * `opening` starts a session and has no session id yet; `session` belongs to one; `link` needs none. `abort` belongs to
 * a session without naming its id.
 */
export type MessageScope = "opening" | "session" | "link" | "abort";

export interface MessageKind {
  readonly name: MessageName;
  readonly type: MessageType;
  /** The party that may send it; null: both. */
  readonly from: 0 | 1 | null;
  readonly seq: number;
  readonly bytesMin: number;
  readonly bytesMax: number;
  readonly scope: MessageScope;
}

/** What F1 holds before the intent: nonce, tag, digest. */
export const F1_FIXED_BYTES = 96;
export const INTENT_BYTES_MAX = 131_072;

const KEYGEN_BYTES = [32, 64, 292, 8_708, 16_640, 16_384, 24_576, 16_416, 32, 32];
const REFRESH_BYTES = [81, 104, 226, 8_707, 16_705, 16_384, 24_576, 16_416, 32, 32];
const SIGN_BYTES = [0, 26_754, 66_845, 40_227, 64, 32];

export const MESSAGE_KINDS: readonly MessageKind[] = [
  kind("hello", null, 0, 121, "link"),
  kind("state", null, 0, 82, "link"),
  kind("stateReply", null, 1, 82, "link"),
  kind("count", 0, 0, 24, "link"),
  kind("counted", 1, 1, 24, "link"),
  ...flights("kg", KEYGEN_BYTES),
  kind("activate", 0, 11, 32, "link"),
  kind("activated", 1, 12, 32, "link"),
  ...flights("rf", REFRESH_BYTES),
  { ...kind("f1", 0, 1, 0, "opening"), bytesMin: F1_FIXED_BYTES + 1, bytesMax: F1_FIXED_BYTES + INTENT_BYTES_MAX },
  ...flights("f", SIGN_BYTES).slice(1),
  kind("freeze", null, 0, 0, "link"),
  kind("frozen", null, 1, 0, "link"),
  kind("abort", null, 0, 4, "abort"),
];

const BY_TYPE = new Map<number, MessageKind>(MESSAGE_KINDS.map((each) => [each.type, each]));
const BY_NAME = new Map<string, MessageKind>(MESSAGE_KINDS.map((each) => [each.name, each]));

export function kindOfType(type: number): MessageKind | null {
  return BY_TYPE.get(type) ?? null;
}

export function kindNamed(name: MessageName): MessageKind {
  const found = BY_NAME.get(name);
  if (found === undefined) throw new RangeError(`no message ${name}`);
  return found;
}

export function isLegalLength({ bytesMin, bytesMax }: MessageKind, bytes: number): boolean {
  return bytes >= bytesMin && bytes <= bytesMax;
}

function kind(name: MessageName, from: 0 | 1 | null, seq: number, bytes: number, scope: MessageScope): MessageKind {
  return { name, type: MESSAGE[name], from, seq, bytesMin: bytes, bytesMax: bytes, scope };
}

/** Messages of a protocol go to and fro: the odd ones are the service's. */
function flights(prefix: "kg" | "rf" | "f", lengths: readonly number[]): MessageKind[] {
  return lengths.map((bytes, index) => {
    const name = `${prefix}${index + 1}` as MessageName;
    return kind(name, index % 2 === 0 ? 0 : 1, index + 1, bytes, index === 0 ? "opening" : "session");
  });
}
