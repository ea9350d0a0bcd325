/**
 * @file Where the project lives.
 */

/** Address of the repository: of the pages that errors name, and of each package's metadata. */
export const REPOSITORY = 'https://github.com/tessera-ml/tessera';
