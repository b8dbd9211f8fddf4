local dockerfile = require("spec.release.dockerfile")

describe("the reader of Dockerfiles", function()
  it("gives each stage its image, its name and its instructions", function()
    assert.same({
      { image = "debian:a", name = "build", instructions = {
        { name = "RUN", script = "make    && make install" },
        { name = "COPY", paths = { "Makefile", "LICENSE" }, to = "./" },
      } },
      { image = "debian:b", instructions = {
        { name = "COPY", from = "build", paths = { "/built" }, to = "/usr" },
        { name = "USER", user = "nobody" },
        { name = "STOPSIGNAL", signal = "QUIT" },
        { name = "HEALTHCHECK", words = { "curl", "-f" } },
        { name = "CMD", words = { "a b", "c" } },
      } },
    }, dockerfile.read([[
# a comment
FROM debian:a AS build
RUN make \
  && make install
COPY Makefile LICENSE ./

FROM debian:b
# another
COPY --from=build /built /usr
USER nobody
STOPSIGNAL SIGQUIT
HEALTHCHECK CMD ["curl", "-f"]
CMD ["a b", "c"]
]]))
  end)

  it("refuses an instruction that the spec of the image does not carry out", function()
    assert.has_error(function()
      dockerfile.read("FROM debian:a\nADD file /\n")
    end, "ADD file /")
  end)
end)
