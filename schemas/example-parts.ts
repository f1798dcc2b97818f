/** What the examples of several operations have in common. */
import { ROUTABLE_VENUE_WORDS } from "./common.js";

const [FIRST] = ROUTABLE_VENUE_WORDS;

export const EXAMPLE_CREDENTIALS = { [FIRST]: { privateKey: `<${FIRST}_private_key>` } };
export const EXAMPLE_TIMESTAMP = 1_790_000_000_422;
export const EXAMPLE_ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";

export function exampleReply(data: unknown) {
  return { success: true, data, timestamp: EXAMPLE_TIMESTAMP };
}
