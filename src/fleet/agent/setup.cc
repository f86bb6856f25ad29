#include "fleet/agent/setup.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/new_file.h"
#include "device/remote/child_stream.h"
#include "fleet/names.h"

namespace whet {
namespace {

constexpr double kOpensslSeconds = 60;
constexpr const char* kFleetAccount = "FLEET";

/// Makes the authority where it is missing, then a certificate that it signs: FOLDER NAME SUBJECT SAN USAGE. Keys are P-256. What is
/// not whole yet lies in a folder whose name nobody can guess.
constexpr const char* kCertificateScript = R"sh(
set -eu
umask 077
cd "$1"
made=$(mktemp -d ./new.XXXXXX)
trap 'rm -rf "$made"' EXIT
new='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
if [ ! -f ca.pem ]; then
  openssl req -x509 $new -days 3650 -subj '/CN=whet fleet' -keyout "$made/ca.key" -out "$made/ca.pem" \
    -addext 'keyUsage=critical,keyCertSign,cRLSign' 2>&1
  mv "$made/ca.key" ca.key
  mv "$made/ca.pem" ca.pem
fi
openssl req -new $new -subj "/CN=$3" -keyout "$made/key" -out "$made/csr" 2>&1
printf 'basicConstraints=CA:FALSE\nsubjectAltName=%s\nextendedKeyUsage=%s\n' "$4" "$5" > "$made/ext"
openssl x509 -req -in "$made/csr" -CA ca.pem -CAkey ca.key -set_serial "0x01$(openssl rand -hex 15)" -days 3650 \
  -extfile "$made/ext" -out "$made/pem" 2>&1
mv "$made/key" "$2.key"
mv "$made/pem" "$2.pem"
)sh";

bool is_file(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

Status make_folder(const std::string& path) {
  constexpr mode_t kOwnerOnly = 0700;
  if (mkdir(path.c_str(), kOwnerOnly) == 0 || errno == EEXIST) return ok_status();
  return Error{path + " cannot be made: " + std::strerror(errno), ErrorKind::io};
}

Status write_file(const std::string& path, const std::string& text) {
  WHET_TRY(NewFile file, NewFile::open(path));
  WHET_RETURN_IF_ERROR(file.write(text));
  return file.keep();
}

Status make_certificate(const std::string& folder, const std::string& name, const std::string& subject,
                        const std::string& san, const std::string& usage) {
  WHET_TRY(ChildStream child, ChildStream::start({"sh", "-c", kCertificateScript + std::string("true\n"), "openssl",
                                                  folder, name, subject, san, usage}));
  // Its words go to standard output; the last of them say what is wrong.
  std::string words;
  char bytes[1024];
  for (ssize_t n; (n = read(child.in(), bytes, sizeof bytes)) > 0;) words.append(bytes, static_cast<std::size_t>(n));
  if (child.has_ended(kOpensslSeconds) && child.exit_status() == 0) return ok_status();
  const std::string last = child.last_words();
  while (!words.empty() && words.back() == '\n') words.pop_back();
  return Error{"openssl makes no certificate for " + subject + ": " +
                   (last.empty() ? words.substr(words.rfind('\n') + 1) : last),
               ErrorKind::io};
}

std::string user_address(const FleetSetup::User& user) { return user.name + "@" + name_of(user.role) + "s"; }

std::string dial_text(const HostAndPort& address) {
  const bool bracketed = address.host.find(':') != address.host.npos;
  return (bracketed ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

constexpr const char* kHead = "# Written by whet-agent --setup";

/// A configuration that somebody else wrote is not replaced.
Status check_config(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) return ok_status();
  std::string begin(std::strlen(kHead), '\0');
  begin.resize(std::fread(begin.data(), 1, begin.size(), file.get()));
  if (begin.empty() || begin == kHead) return ok_status();
  return Error{path + " is there and is not of whet-agent; give another folder, or remove the file"};
}

Status write_user(const FleetSetup& setup, const FleetSetup::User& user) {
  const std::string folder = setup.folder + "/" + user.name;
  WHET_RETURN_IF_ERROR(make_folder(folder));
  if (!is_file(folder + "/cert.pem")) {
    WHET_RETURN_IF_ERROR(
        make_certificate(setup.folder, user.name + "/cert", user.name, "email:" + user_address(user), "clientAuth"));
    if (std::rename((folder + "/cert.key").c_str(), (folder + "/key.pem").c_str()) != 0)
      return Error{folder + "/key.pem cannot be written: " + std::strerror(errno), ErrorKind::io};
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> ca(std::fopen((setup.folder + "/ca.pem").c_str(), "rb"),
                                                           std::fclose);
  constexpr std::size_t kMostCertificate = 16384;
  std::string text(kMostCertificate, '\0');
  text.resize(ca ? std::fread(text.data(), 1, text.size(), ca.get()) : 0);
  WHET_RETURN_IF_ERROR(write_file(folder + "/ca.pem", text));
  // Last: a folder with this file is whole.
  return write_file(folder + "/fleet", to_text({user.role, "tls://" + dial_text(setup.address), user.name, folder}));
}

/// "["a", "b"]"
std::string list_of(const std::vector<std::string>& subjects) {
  std::string text;
  for (const std::string& subject : subjects) text += (text.empty() ? "\"" : ", \"") + subject + "\"";
  return "[" + text + "]";
}

/// A tuner's subjects, and what they are in the fleet's account. Answers to requests reach the tuner's own account alone, whatever
/// subject they are asked for: without an account the broker would send them to any.
struct TunersSubject {
  std::string own, fleets;
  bool is_sent = true;  ///< by the tuner
};

std::vector<TunersSubject> subjects_of(const std::string& user) {
  const std::string jobs = job_stream(user), answers = "whet.done." + user + ".>",
                    tuners = "$KV.whet_tuners." + user + ".*";
  std::vector<TunersSubject> subjects;
  for (const std::string& sent : {"whet.job.*.*." + user + ".*.*", "whet.file." + user + ".*.*", tuners})
    subjects.push_back({sent, sent});
  for (const std::string& asked :
       {std::string("STREAM.NAMES"), std::string("STREAM.INFO.") + kDeviceStream, std::string("CONSUMER.NAMES.*"),
        std::string("CONSUMER.INFO.*.*"), "DIRECT.GET." + std::string(kDeviceStream) + ".>",
        "DIRECT.GET." + jobs + ".>", "DIRECT.GET." + answer_stream(user) + ".>",
        "DIRECT.GET." + tuner_stream(user) + ".>"})
    subjects.push_back({kTunerApi + ("." + asked), "$JS.API." + asked});
  for (const std::string& heard : {answers, "whet.note." + user + ".>"}) subjects.push_back({heard, heard, false});
  return subjects;
}

std::string permissions(const std::vector<std::string>& publish, const std::vector<std::string>& subscribe) {
  return "permissions: { publish: { allow: " + list_of(publish) + " }, subscribe: { allow: " + list_of(subscribe) +
         " } }";
}

std::string user_text(const FleetSetup::User& user, const std::string& permissions) {
  return "      { user: \"" + user_address(user) + "\"" + (permissions.empty() ? "" : ", " + permissions) + " }\n";
}

std::string agent_permissions(const std::string& name) {
  return permissions(
      {"whet.done.>", "whet.note.>", "$KV.whet_devices.*." + name + ".*", "$JS.API.STREAM.NAMES",
       "$JS.API.CONSUMER.INFO.*.*", "$JS.API.CONSUMER.MSG.NEXT.*.*", "$JS.ACK.>", "$JS.API.DIRECT.GET.>"},
      {"_INBOX." + name + ".>"});
}

/// The account that has the streams, with agents and the admin in it.
std::string fleet_account(const FleetSetup& setup) {
  std::string text = std::string("  ") + kFleetAccount + " {\n    jetstream: enabled\n    users: [\n";
  for (const FleetSetup::User& user : setup.users)
    if (user.role != FleetAccess::Role::tuner)
      text += user_text(user, user.role == FleetAccess::Role::agent ? agent_permissions(user.name) : "");
  text += "    ]\n    exports: [\n";
  for (const char* service : {"whet.job.>", "whet.file.>", "$KV.whet_tuners.>", "$JS.API.>"})
    text += std::string("      { service: \"") + service + "\" }\n";
  for (const char* stream : {"whet.done.>", "whet.note.>"})
    text += std::string("      { stream: \"") + stream + "\" }\n";
  return text + "    ]\n  }\n";
}

std::string tuner_account(const FleetSetup::User& user) {
  std::vector<std::string> publish, subscribe = {"_INBOX." + user.name + ".>"};
  std::string imports;
  for (const TunersSubject& subject : subjects_of(user.name)) {
    (subject.is_sent ? publish : subscribe).push_back(subject.own);
    imports += std::string("      { ") + (subject.is_sent ? "service" : "stream") + ": { account: " + kFleetAccount +
               ", subject: \"" + subject.fleets + "\" }" +
               (subject.own == subject.fleets ? "" : ", to: \"" + subject.own + "\"") + " }\n";
  }
  return "  \"user_" + user.name + "\" {\n    users: [\n" + user_text(user, permissions(publish, subscribe)) +
         "    ]\n    imports: [\n" + imports + "    ]\n  }\n";
}

}  // namespace

std::string server_config(const FleetSetup& setup) {
  const std::string& dir = setup.folder;
  std::string text = std::string(kHead) + ", which writes it anew when users come.\n";
  text += "listen: \"" + dial_text(setup.address) + "\"\n";
  text +=
      "server_name: \"whet\"\n"
      "max_payload: 8MB\n"
      "ping_interval: \"5s\"\n"
      "ping_max: 2\n"
      "write_deadline: \"5s\"\n";
  // Room for the limits of 250 users, which a broker that runs does not change.
  text += "jetstream {\n  store_dir: \"" + dir + "/js\"\n  max_mem: 64MB\n  max_file: 256GB\n}\n";
  text += "tls {\n  cert_file: \"" + dir + "/server.pem\"\n  key_file: \"" + dir + "/server.key\"\n  ca_file: \"" +
          dir + "/ca.pem\"\n  verify_and_map: true\n  timeout: 5\n}\n";
  text += "accounts {\n" + fleet_account(setup);
  for (const FleetSetup::User& user : setup.users)
    if (user.role == FleetAccess::Role::tuner) text += tuner_account(user);
  return text + "}\n";
}

FleetSetup read_setup(const std::string& folder) {
  FleetSetup setup{folder, {"127.0.0.1", 4222}, {}};
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(opendir(folder.c_str()), closedir);
  while (const dirent* entry = listing ? readdir(listing.get()) : nullptr) {
    if (!is_fleet_word(entry->d_name)) continue;
    const Result<FleetAccess> access = read_fleet_access(folder + "/" + entry->d_name);
    if (!access.ok() || access->user != entry->d_name) continue;
    setup.users.push_back({access->user, access->role});
    setup.address = parse_address(access->server.substr(access->server.find("//") + 2)).value();
  }
  std::ranges::sort(setup.users, {}, &FleetSetup::User::name);
  return setup;
}

Result<FleetSetup> write_setup(FleetSetup setup) {
  WHET_RETURN_IF_ERROR(make_folder(setup.folder));
  char path[PATH_MAX];
  if (!realpath(setup.folder.c_str(), path))
    return Error{setup.folder + " cannot be found: " + std::strerror(errno), ErrorKind::io};
  setup.folder = path;
  if (setup.folder.find_first_of("\"\\\n") != std::string::npos)
    return Error{"the folder is " + setup.folder + "; expected a path without quotes and backslashes"};
  WHET_RETURN_IF_ERROR(check_config(setup.folder + "/server.conf"));
  FleetSetup there = read_setup(setup.folder);
  if (setup.address.port == 0) setup.address = there.address;
  for (const FleetSetup::User& user : setup.users) {
    const auto same = std::ranges::find(there.users, user.name, &FleetSetup::User::name);
    if (same == there.users.end())
      there.users.push_back(user);
    else if (same->role != user.role)
      return Error{user.name + " is there already as " + name_of(same->role)};
  }
  setup.users = std::move(there.users);
  const std::string& host = setup.address.host;
  // libnats compares the name that it dials, even where that is an address, with the names of a certificate.
  const bool numeric = host.find_first_not_of("0123456789.") == host.npos || host.find(':') != host.npos;
  const std::string names =
      "DNS:" + host + (numeric ? ",IP:" + host : "") + ",DNS:localhost,DNS:127.0.0.1,IP:127.0.0.1";
  if (!is_file(setup.folder + "/server.pem") || host != there.address.host)
    WHET_RETURN_IF_ERROR(make_certificate(setup.folder, "server", "whet fleet broker", names, "serverAuth"));
  for (const FleetSetup::User& user : setup.users) WHET_RETURN_IF_ERROR(write_user(setup, user));
  WHET_RETURN_IF_ERROR(write_file(setup.folder + "/server.conf", server_config(setup)));
  return setup;
}

}  // namespace whet
