/**
 * @file Whether functions may be made from strings.
 *
 * A content security policy without `unsafe-eval` forbids it, as do `node --disallow-code-generation-from-strings`
 * and pages that enforce Trusted Types. Browsers report each attempt, so there is one in a program's life.
 */

let allowed: boolean | null = null;

/** Whether the host lets `new Function` make functions; asked once. */
export function canGenerateCode(): boolean {
  if (allowed === null) {
    try {
      allowed = new Function('return true')() === true;
    } catch {
      allowed = false;
    }
  }
  return allowed;
}
