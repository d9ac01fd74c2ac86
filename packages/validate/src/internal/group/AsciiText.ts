/** Texts whose case counts only where their letters are not ASCII, as in domains. */

/** With small ASCII letters. */
export const lower = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
