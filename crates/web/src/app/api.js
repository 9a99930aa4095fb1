// Calls of Hob's API. Whoever is not logged in any more is sent to the login.

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function answer(response) {
  if (response.status === 401) {
    location.assign("/login");
    return new Promise(() => {});
  }
  if (response.ok) return response.status === 204 ? null : response.json();
  const body = await response.json().catch(() => ({}));
  throw new ApiError(response.status, body.error ?? `Hob answered ${response.status}`);
}

async function call(method, path, body) {
  const init = { method, headers: {} };
  if (body instanceof FormData) init.body = body;
  else if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers["content-type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(path, init);
  } catch {
    throw new ApiError(0, "Hob cannot be reached");
  }
  return answer(response);
}

export const get = (path) => call("GET", path);
export const post = (path, body) => call("POST", path, body);
export const put = (path, body) => call("PUT", path, body);
export const del = (path) => call("DELETE", path);

// What says nothing about the request itself: Hob is not there, has too much to do, or a server before it says so.
const FOR_NOW = [0, 429, 502, 503, 504];

/** Whether the same request may be answered otherwise in a while. */
export const isForNow = (error) => FOR_NOW.includes(error.status);

/** Sends until it was taken: the same id does no harm twice. Gives up when Hob says no. */
export async function persist(send, told) {
  for (let wait = 500; ; wait = Math.min(wait * 2, 15000)) {
    try {
      return await send();
    } catch (error) {
      if (!isForNow(error)) throw error;
      told?.(error);
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}
