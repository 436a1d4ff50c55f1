/* A browser starts no worker for a page that was opened from a disk. The search then runs in a
   hidden frame of the page. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(script) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inside = frame.contentWindow
      this.waiting = []
      this.inside = inside
      inside.postMessage = data => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      const element = inside.document.createElement("script")
      element.src = script
      element.onload = () => {
        const waiting = this.waiting
        this.waiting = null
        waiting.forEach(data => this.postMessage(data))
      }
      inside.document.body.append(element)
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.inside.dispatchEvent(new MessageEvent("message", { data }))
    }

    terminate() {
      this.inside.frameElement.remove()
    }
  }
}
