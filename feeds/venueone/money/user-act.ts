/** What all acts of a wallet at venueone share (sheet sections 5.2 and 6.3): the network they name, what is signed, what is sent. */
import type { WalletText } from "../../../engine/key-registrar.js";
import { typedDataText } from "../../shared/sign/typed-text.js";
import { USER_ACTION_TYPES, userActionDomain, type UserActionType } from "../sign/typed-data.js";

export interface UserAct {
  readonly type: UserActionType;
  /** Hex; any chain that the wallet signs on. The network is separated by the next field. */
  readonly signatureChainId: string;
  readonly hyperliquidChain: "Mainnet" | "Testnet";
}

const NETWORKS = {
  main: { signatureChainId: "0xa4b1", hyperliquidChain: "Mainnet" },
  test: { signatureChainId: "0x66eee", hyperliquidChain: "Testnet" },
} as const;

export function networkOf(isMainnet: boolean): Omit<UserAct, "type"> {
  return isMainnet ? NETWORKS.main : NETWORKS.test;
}

export function signedText(action: UserAct): WalletText {
  const { primaryType, fields } = USER_ACTION_TYPES[action.type];
  const text = typedDataText(userActionDomain(action.signatureChainId), primaryType, fields, { ...action });
  return { kind: "typedData", text };
}

/** `nonce`: as inside the action. `signature`: r ‖ s ‖ v. The venue takes neither a vault nor an expiry with these. */
export function signedBody(action: UserAct, nonce: number, signature: string): string {
  const [r, s] = [signature.slice(0, 66), `0x${signature.slice(66, 130)}`];
  return JSON.stringify({ action, nonce, signature: { r, s, v: Number.parseInt(signature.slice(130), 16) } });
}
