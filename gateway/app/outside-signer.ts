/** Server wallets whose keys an outside signer holds, wired: token, connection, rows (docs/outside-signer.md). */
import { OutsideProvider } from "../../engine/custody/outside/outside-provider.js";
import { OUTSIDE_WALLETS } from "../../engine/custody/outside/wallet-row.js";
import type { CreationWrites } from "../../engine/custody/provider/wallet-provider.js";
import { WALLET_NAMESPACE } from "../../engine/custody/provider/wallet-rows.js";
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Owners } from "../../engine/domain/owner.js";
import type { KeyedHash } from "../../engine/storage/keyed-hash.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import { secp256k1 } from "../../feeds/shared/sign/secp256k1.js";
import { StartError } from "../children/start-error.js";
import { HttpsSigner } from "../outside-signer/https-signer.js";
import { SignerToken } from "../outside-signer/signer-token.js";
import type { OutsideSignerConfig } from "./config-outside-signer.js";

export interface OutsideSignerParts {
  readonly config: OutsideSignerConfig;
  readonly store: StateStore;
  readonly owners: Owners;
  readonly hash: KeyedHash;
  readonly creationWrites: CreationWrites;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface OutsideWallets {
  readonly provider: OutsideProvider;
  stop(): Promise<void>;
}

/** Rejects with StartError, or with ServiceError where a row cannot be read. */
export async function openOutsideSigner({ config, ...parts }: OutsideSignerParts): Promise<OutsideWallets> {
  const { store, clock } = parts;
  await assertNone(store, WALLET_NAMESPACE, "https", "embedded");
  const { url, tokenFile, ca, takesDigests } = config;
  const token = SignerToken.read(tokenFile);
  if (token === null)
    throw new StartError([
      `WALLET_PROVIDER_TOKEN_FILE: ${tokenFile} must hold one line of 16 to 4,096 visible characters without spaces`,
    ]);
  const signer = new HttpsSigner({ url, token, ca, clock });
  const provider = new OutsideProvider({ ...parts, signer, verifier: secp256k1, takesDigests });
  const stop = async () => {
    provider.stop();
    await signer.close();
  };
  try {
    await provider.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return { provider, stop };
}

/** Before the embedded provider starts. Rejects with StartError. */
export function assertNoOutsideWallets(store: Pick<StateStore, "scan">): Promise<void> {
  return assertNone(store, OUTSIDE_WALLETS, "embedded", "https");
}

/** The users of the other provider's wallets would get a second one each, and their first one could not be found. */
async function assertNone(
  store: Pick<StateStore, "scan">,
  namespace: string,
  wanted: string,
  other: string,
): Promise<void> {
  const rows = await store.scan(namespace, { prefix: "", limit: 1 });
  if (rows.length > 0)
    throw new StartError([
      `WALLET_PROVIDER=${wanted}: DATA_DIR has wallets of WALLET_PROVIDER=${other}; start with that, or name another DATA_DIR`,
    ]);
}
