/** CHROMIUM_PATH, or the first chromium on PATH; null where there is none. */
export declare function findChromium(): string | null;
